//! Random runs: items that know where they are, delays, and settings.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use inorder::{InOrder, Ordered};
use proptest::prelude::*;

/// One run.
#[derive(Debug, Clone)]
pub struct Run {
    pub items: u64,
    pub threads: usize,
    /// 0: the default.
    pub window: usize,
    /// Most weight, if items are weighed.
    pub limit: Option<usize>,
    /// Who is slow at times.
    pub slow: Slow,
    pub seed: u64,
}

/// Whether each of the three parties is slow at times.
#[derive(Debug, Clone, Copy)]
pub struct Slow {
    pub source: bool,
    pub work: bool,
    pub consumer: bool,
}

pub fn runs(most: u64) -> impl Strategy<Value = Run> {
    let threads = prop::sample::select(vec![1, 2, 3, 7, 64]);
    let window = prop_oneof![3 => Just(0usize), 2 => Just(1), 5 => 2usize..40, 2 => 40usize..3000];
    let limit = prop::option::of(prop_oneof![1usize..20, 20usize..2000, Just(usize::MAX)]);
    let slow = any::<[bool; 3]>().prop_map(|[source, work, consumer]| Slow {
        source,
        work,
        consumer,
    });
    let items = prop_oneof![1 => 0u64..3, 4 => 0..most];
    (items, threads, window, limit, slow, any::<u64>()).prop_map(
        |(items, threads, window, limit, slow, seed)| Run {
            items,
            threads,
            window,
            limit,
            slow,
            seed,
        },
    )
}

impl Run {
    /// A number for this item at this place.
    pub fn random(&self, place: &str, index: u64) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.seed, place, index).hash(&mut hasher);
        hasher.finish()
    }

    /// Takes a random time: mostly none, now and then some 100 µs.
    pub fn delay(&self, place: &str, index: u64, slow: bool) {
        let random = self.random(place, index);
        match random % 64 {
            _ if !slow => {}
            0 => std::thread::sleep(Duration::from_micros(random / 64 % 300)),
            1..4 => std::thread::yield_now(),
            4..20 => {
                let (begun, time) = (Instant::now(), Duration::from_nanos(random / 64 % 20_000));
                while begun.elapsed() < time {
                    std::hint::spin_loop();
                }
            }
            _ => {}
        }
    }

    pub fn weight(&self, index: u64) -> usize {
        let random = self.random("weight", index);
        match random % 8 {
            0 => 0,
            1 => (random / 8 % 3000) as usize,
            _ => (random / 8 % 10) as usize,
        }
    }

    /// The work: what becomes of an item.
    pub fn work(&self, item: Item) -> Item {
        self.delay("work", item.index, self.slow.work);
        item
    }

    pub fn window(&self) -> usize {
        match self.window {
            0 => 8192 * self.threads,
            window => window,
        }
    }

    /// The settings of this run, for a source.
    pub fn settings<I: Iterator<Item = Item>>(&self, source: I) -> Ordered<I> {
        let ordered = source.in_order().threads(self.threads).window(self.window);
        match self.limit {
            None => ordered,
            // In either order.
            Some(limit) if self.seed.is_multiple_of(2) => {
                ordered.weigh(|item| item.weight).memory(limit)
            }
            Some(limit) => ordered.memory(limit).weigh(|item| item.weight),
        }
    }
}

/// Keeps account of what is between the source's `next` and the consumer.
#[derive(Debug, Clone)]
pub struct Books {
    run: Run,
    sums: Arc<Mutex<Sums>>,
}

#[derive(Debug, Default)]
pub struct Sums {
    pub pulled: u64,
    /// Between the source and the consumer.
    pub inside: usize,
    pub most_inside: usize,
    weight: usize,
    /// Not dropped.
    alive: usize,
}

/// Something that is pulled, and is its own result. The books know when it is dropped.
#[derive(Debug)]
pub struct Item {
    pub index: u64,
    pub weight: usize,
    books: Books,
}

impl Drop for Item {
    fn drop(&mut self) {
        self.books.sums().alive -= 1;
    }
}

impl Books {
    pub fn new(run: &Run) -> Books {
        Books {
            run: run.clone(),
            sums: Arc::default(),
        }
    }

    pub fn sums(&self) -> std::sync::MutexGuard<'_, Sums> {
        self.sums.lock().unwrap()
    }

    /// The source: checks the bounds whenever it is asked for an item.
    pub fn source(&self) -> impl Iterator<Item = Item> + Send + use<> {
        let books = self.clone();
        std::iter::from_fn(move || books.pull(true))
    }

    /// The same without an end.
    pub fn endless(&self) -> impl Iterator<Item = Item> + Send + use<> {
        let books = self.clone();
        std::iter::from_fn(move || books.pull(false))
    }

    fn pull(&self, ends: bool) -> Option<Item> {
        let run = &self.run;
        let index = self.sums().pulled;
        run.delay("source", index, run.slow.source);
        let mut sums = self.sums();
        if let Some(limit) = run.limit {
            let (inside, weight) = (sums.inside, sums.weight);
            assert!(
                weight <= limit || inside == 1,
                "{inside} items weigh {weight}"
            );
        }
        if ends && index == run.items {
            return None;
        }
        let weight = run.weight(index);
        sums.pulled += 1;
        sums.inside += 1;
        sums.most_inside = sums.most_inside.max(sums.inside);
        sums.weight += weight;
        sums.alive += 1;
        assert!(
            sums.inside <= run.window(),
            "{} items in a window of {}",
            sums.inside,
            run.window()
        );
        drop(sums);
        Some(Item {
            index,
            weight,
            books: self.clone(),
        })
    }

    /// The consumer has got this item, which is to have this number.
    pub fn take(&self, item: &Item, index: u64) {
        assert_eq!(item.index, index);
        let mut sums = self.sums();
        sums.inside -= 1;
        sums.weight -= item.weight;
        drop(sums);
        self.run.delay("consumer", index, self.run.slow.consumer);
    }

    /// Everything was pulled and taken.
    pub fn check_end(&self) {
        let sums = self.sums();
        assert_eq!((sums.pulled, sums.inside), (self.run.items, 0));
        assert_eq!(sums.alive, 0, "items that were never dropped");
    }

    /// Nothing is left.
    pub fn check_dropped(&self) {
        assert_eq!(self.sums().alive, 0, "items that were never dropped");
    }
}
