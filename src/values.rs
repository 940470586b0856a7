//! Ordered values instead of bytes in a file: any iterator, mapped on every core, its results in order and bounded in number.
//!
//! The source is pulled on a thread of its own. Workers take the items in groups, which go through the same order and pool as the chunks of
//! a file, and the caller's `next` takes the place of the writer.

mod bounds;
mod engine;
mod gather;
mod intake;
mod local;
mod outlet;
mod quiet;
mod results;
mod scoped;
mod thread;
mod worked;

use std::num::NonZero;
use std::sync::Arc;

pub use local::LocalMap;
pub use results::{Map, TryMap};
pub use scoped::ScopedMap;

use bounds::Bounds;
use engine::Shared;

/// Maps an iterator on every core: results in order, lazily, in bounded memory.
///
/// ```
/// use inorder::InOrder;
///
/// let squares: Vec<u64> = (0..1000u64).in_order().threads(4).map(|x| x * x).collect();
/// assert_eq!(squares[999], 998_001);
///
/// // Endless sources are fine: no more than the window is pulled ahead.
/// let first = (1u64..).in_order().map(|x| x * 7).find(|x| x % 1000 == 0);
/// assert_eq!(first, Some(7000));
/// ```
pub trait InOrder: Iterator + Sized {
    /// Begins the settings of an ordered parallel map.
    fn in_order(self) -> Ordered<Self> {
        Ordered {
            source: self,
            threads: 0,
            window: 0,
            weight: None,
        }
    }
}

impl<I: Iterator> InOrder for I {}

/// What an item weighs, for [`Ordered::weigh`].
type Weigh<T> = Arc<dyn Fn(&T) -> usize + Send + Sync>;

/// Settings of an ordered parallel map, each with a default; made by [`InOrder::in_order`].
///
/// Nothing is pulled from the source before the first result is asked for (by [`scope`](Ordered::scope) and [`for_each`](Ordered::for_each),
/// at once). An item never waits while a worker is free. When items come faster, a worker takes a group of them that should keep it busy
/// for 200 µs, and hands out their results together; if it takes much longer, the rest one by one. Work that waits until an earlier
/// result was taken could wait for itself in a group: with a [`window`](Ordered::window) of fewer than four items a thread there are
/// no groups.
#[must_use = "nothing happens before a result is asked for"]
pub struct Ordered<I: Iterator> {
    source: I,
    threads: usize,
    window: usize,
    weight: Option<Weight<I::Item>>,
}

struct Weight<T> {
    weigh: Weigh<T>,
    limit: usize,
}

impl<I: Iterator> Ordered<I> {
    /// Worker threads. Default, and 0: one a core, as far as affinity and cgroup quota allow.
    pub fn threads(mut self, threads: usize) -> Self {
        self.threads = threads;
        self
    }

    /// Most items at any moment between the source's `next` and the result's. Default, and 0: 8192 a thread.
    ///
    /// After an item that takes long, the others go on until the window is full. A small one saves memory: for items or results that are
    /// large, set it, or [`memory`](Ordered::memory). Items that take far less than a microsecond need a large one.
    pub fn window(mut self, items: usize) -> Self {
        self.window = items;
        self
    }

    /// Bounds what is in flight by weight too, e.g. in bytes: see [`memory`](Ordered::memory). An item that weighs more than that goes through
    /// alone. The default limit is 64 MiB.
    pub fn weigh(mut self, weigh: impl Fn(&I::Item) -> usize + Send + Sync + 'static) -> Self {
        let limit = self.weight.as_ref().map_or(64 << 20, |weight| weight.limit);
        self.weight = Some(Weight {
            weigh: Arc::new(weigh),
            limit,
        });
        self
    }

    /// Most weight in flight, beside the item that the source gave last. Without [`weigh`](Ordered::weigh), an item weighs its own size, without
    /// what it points to.
    pub fn memory(mut self, limit: usize) -> Self {
        match &mut self.weight {
            Some(weight) => weight.limit = limit,
            None => {
                self.weight = Some(Weight {
                    weigh: Arc::new(|item: &I::Item| size_of_val(item)),
                    limit,
                });
            }
        }
        self
    }

    /// The results of `work`, in the source's order. The source is pulled on a thread of its own; for one that can't leave its
    /// thread there is [`map_local`](Ordered::map_local), for one that borrows [`scope`](Ordered::scope).
    ///
    /// Dropping the iterator stops the work after the items at hand, and waits for that, and for the source's `next` if it is
    /// being called.
    ///
    /// # Panics
    /// The iterator's `next` panics with the panic of `work` or of the source, when that item's turn has come; and if no
    /// threads can be started.
    pub fn map<R, F>(self, work: F) -> Map<I, F, R>
    where
        I: Send + 'static,
        I::Item: Send + 'static,
        F: Fn(I::Item) -> R + Send + Sync + 'static,
        R: Send + 'static,
    {
        let (source, bounds) = self.split();
        Map::new(source, Arc::new(Shared::new(bounds, work, None)))
    }

    /// As [`map`](Ordered::map), for work that can fail: the iterator ends after the first error in order, and the rest is not worked on.
    ///
    /// # Panics
    /// As [`map`](Ordered::map).
    pub fn try_map<R, E, F>(self, work: F) -> TryMap<I, F, R, E>
    where
        I: Send + 'static,
        I::Item: Send + 'static,
        F: Fn(I::Item) -> Result<R, E> + Send + Sync + 'static,
        R: Send + 'static,
        E: Send + 'static,
    {
        let (source, bounds) = self.split();
        let shared = Shared::new(bounds, work, Some(Result::is_err));
        TryMap::new(Map::new(source, Arc::new(shared)))
    }

    /// As [`map`](Ordered::map), for a source that can't be sent to another thread: it is pulled inside the results' `next`, so the
    /// workers have only what was pulled ahead there.
    ///
    /// # Panics
    /// As [`map`](Ordered::map).
    pub fn map_local<R, F>(self, work: F) -> LocalMap<I, F, R>
    where
        I::Item: Send + 'static,
        F: Fn(I::Item) -> R + Send + Sync + 'static,
        R: Send + 'static,
    {
        let (source, bounds) = self.split();
        LocalMap::new(source, Arc::new(Shared::new(bounds, work, None)))
    }

    /// Source, items, work and results may borrow: `body` gets the iterator of results, and all threads are joined when
    /// it returns.
    ///
    /// ```
    /// use inorder::InOrder;
    ///
    /// let words = vec!["one".to_owned(), "two".to_owned(), "three".to_owned()];
    /// let longest = words
    ///     .iter()
    ///     .in_order()
    ///     .scope(|word| word.len(), |lengths| lengths.max());
    /// assert_eq!(longest, Some(5));
    /// ```
    ///
    /// # Panics
    /// As [`map`](Ordered::map), and with the panic of `body`.
    pub fn scope<R, F, B, T>(self, work: F, body: B) -> T
    where
        I: Send,
        I::Item: Send,
        F: Fn(I::Item) -> R + Send + Sync,
        R: Send,
        B: FnOnce(ScopedMap<'_, I::Item, R, F>) -> T,
    {
        let (source, bounds) = self.split();
        scoped::scope(source, &Shared::new(bounds, work, None), body)
    }

    /// As [`scope`](Ordered::scope): gives each result in order to `consume`, on the calling thread.
    ///
    /// ```
    /// use inorder::InOrder;
    ///
    /// let (numbers, mut total) = (vec![1, 2, 3], 0);
    /// numbers.iter().in_order().for_each(|x| x * 10, |x| total += x);
    /// assert_eq!(total, 60);
    /// ```
    ///
    /// # Panics
    /// As [`map`](Ordered::map), and with the panic of `consume`.
    pub fn for_each<R, F, C>(self, work: F, consume: C)
    where
        I: Send,
        I::Item: Send,
        F: Fn(I::Item) -> R + Send + Sync,
        R: Send,
        C: FnMut(R),
    {
        self.scope(work, |results| results.for_each(consume));
    }

    fn split(self) -> (I, Bounds<I::Item>) {
        let threads = match self.threads {
            0 => std::thread::available_parallelism().map_or(1, NonZero::get),
            threads => threads,
        };
        let window = match self.window {
            0 => threads.saturating_mul(8192),
            window => window,
        };
        let bounds = Bounds::new(threads, window, self.weight);
        (self.source, bounds)
    }
}

impl<I: Iterator> std::fmt::Debug for Ordered<I> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ordered")
            .field("threads", &self.threads)
            .field("window", &self.window)
            .finish_non_exhaustive()
    }
}
