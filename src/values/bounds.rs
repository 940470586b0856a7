//! What may be in flight.

use super::{Weigh, Weight};

/// What is in flight at most, by count and by weight.
pub(super) struct Bounds<T> {
    pub threads: usize,
    /// Items.
    pub window: usize,
    /// An item is charged the larger of its part of the window and of the weight, so that one sum bounds both.
    pub limit: usize,
    /// What an item without weight is charged.
    pub share: usize,
    weigh: Option<Weigh<T>>,
    /// Weights are counted in this unit, so that their products with the window are numbers.
    unit: usize,
}

impl<T> Bounds<T> {
    pub fn new(threads: usize, window: usize, weight: Option<Weight<T>>) -> Bounds<T> {
        let (weigh, limit) = match weight {
            None => (None, 1),
            Some(Weight { weigh, limit }) => (Some(weigh), limit),
        };
        let unit = (limit / (usize::MAX / window)).saturating_add(1);
        let share = (limit / unit).max(1);
        Bounds {
            threads,
            window,
            limit: window * share,
            share,
            weigh,
            unit,
        }
    }

    #[inline]
    pub fn charge(&self, item: &T) -> usize {
        match &self.weigh {
            // More than the limit goes through alone, however much more.
            Some(weigh) => weigh(item)
                .div_ceil(self.unit)
                .saturating_mul(self.window)
                .clamp(self.share, self.limit),
            None => self.share,
        }
    }

    /// Whether items are charged differently.
    pub fn differ(&self) -> bool {
        self.weigh.is_some()
    }

    /// Most that a group is charged: a worker's part, twice over, so that one may follow while one is at work.
    pub fn group(&self) -> usize {
        self.limit / self.threads.saturating_mul(2).max(1)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{Bounds, Weight};

    fn weighed(window: usize, limit: usize) -> Bounds<usize> {
        let weigh = Arc::new(|weight: &usize| *weight);
        Bounds::new(4, window, Some(Weight { weigh, limit }))
    }

    /// How many such items may be in flight.
    fn fit(bounds: &Bounds<usize>, weight: usize) -> usize {
        bounds.limit / bounds.charge(&weight)
    }

    #[test]
    fn one_sum_bounds_items_and_weight() {
        let bounds = weighed(100, 1000);
        let fits =
            [0, 1, 10, 11, 20, 500, 501, 1000, 1001, usize::MAX].map(|weight| fit(&bounds, weight));
        assert_eq!(fits, [100, 100, 100, 90, 50, 2, 1, 1, 1, 1]);
    }

    #[test]
    fn no_limit_is_too_large() {
        let bounds = weighed(100, usize::MAX);
        let fits = [0, 1 << 20, usize::MAX / 200, usize::MAX / 3, usize::MAX]
            .map(|weight| fit(&bounds, weight));
        assert_eq!(fits, [100, 100, 100, 2, 1]);
        let bounds = weighed(usize::MAX, usize::MAX);
        assert_eq!((fit(&bounds, 0), fit(&bounds, usize::MAX)), (usize::MAX, 1));
        let bounds = weighed(usize::MAX, 0);
        assert_eq!((fit(&bounds, 0), fit(&bounds, 1)), (usize::MAX, 1));
    }

    #[test]
    fn items_without_weight_are_counted() {
        let bounds = Bounds::<u8>::new(4, 100, None);
        assert_eq!(
            (bounds.limit, bounds.charge(&7), bounds.group()),
            (100, 1, 12)
        );
    }
}
