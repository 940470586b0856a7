//! The bytes in flight, held against their limit.

/// What the reserved slots hold together. A charge is asked for with [`fits`](Budget::fits) before it is taken; the one that replaces it
/// when its chunk is done is not, because an output that exists can't be refused: while it is [exceeded](Budget::is_exceeded) nothing but
/// the head starts.
#[derive(Debug)]
pub(super) struct Budget {
    limit: usize,
    in_flight: usize,
    peak: usize,
}

impl Budget {
    pub(super) fn new(limit: usize) -> Self {
        Self {
            limit,
            in_flight: 0,
            peak: 0,
        }
    }

    /// Whether a charge of this many more bytes stays within the limit.
    pub(super) fn fits(&self, bytes: usize) -> bool {
        self.in_flight
            .checked_add(bytes)
            .is_some_and(|sum| sum <= self.limit)
    }

    /// Whether outputs have taken more than the limit.
    pub(super) fn is_exceeded(&self) -> bool {
        self.in_flight > self.limit
    }

    pub(super) fn charge(&mut self, bytes: usize) {
        self.replace(0, bytes);
    }

    /// Charges all that is left of the limit, and returns how much that is.
    pub(super) fn charge_rest(&mut self) -> usize {
        let rest = self.limit.saturating_sub(self.in_flight);
        self.charge(rest);
        rest
    }

    pub(super) fn give_back(&mut self, bytes: usize) {
        self.replace(bytes, 0);
    }

    /// Takes one charge for another in a single step, so that the peak does not see both.
    pub(super) fn replace(&mut self, old: usize, new: usize) {
        self.in_flight = self.in_flight.saturating_sub(old).saturating_add(new);
        self.peak = self.peak.max(self.in_flight);
    }

    pub(super) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// The most bytes that were ever in flight.
    pub(super) fn peak(&self) -> usize {
        self.peak
    }
}

#[cfg(test)]
mod tests {
    use super::Budget;

    #[test]
    fn the_limit_itself_still_fits() {
        let mut budget = Budget::new(10);
        budget.charge(4);
        assert!(budget.fits(6));
        assert!(!budget.fits(7));
        assert!(!budget.fits(usize::MAX));
        budget.charge(6);
        assert!(!budget.is_exceeded());
        assert!(budget.fits(0));
        assert!(!budget.fits(1));
    }

    #[test]
    fn the_peak_stays_when_bytes_come_back() {
        let mut budget = Budget::new(10);
        budget.charge(4);
        budget.replace(4, 15);
        assert!(budget.is_exceeded());
        assert_eq!((budget.in_flight(), budget.peak()), (15, 15));
        budget.give_back(15);
        assert_eq!((budget.in_flight(), budget.peak()), (0, 15));
    }
}
