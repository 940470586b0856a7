//! What the order holds, counted from outside.

use super::{Attempt, Flow, Limits, Plan};

/// Plain numbers, behind a plain lock that the models do not see. A charge is booked after the order took it and before the order gives it
/// back, so the ledger never shows more than the order really holds.
pub struct Ledger {
    limits: Limits,
    /// By how much the results of the plan can exceed what was reserved for them.
    growth: usize,
    biggest: usize,
    runs_again: bool,
    stops: bool,
    bytes: isize,
    slots: isize,
    started: isize,
}

impl Ledger {
    pub fn new(plan: &Plan) -> Self {
        let charges = |attempts: &[Attempt]| -> Vec<usize> {
            let each = attempts.iter();
            each.flat_map(|attempt| [attempt.bytes, attempt.settled()])
                .collect()
        };
        let growth = |attempts: &Vec<Attempt>| {
            let charges = charges(attempts);
            let steps = charges.windows(2);
            steps
                .map(|pair| pair[1].saturating_sub(pair[0]))
                .sum::<usize>()
        };
        let all = plan.chunks.iter().flat_map(|attempts| charges(attempts));
        Self {
            limits: plan.limits,
            growth: plan.chunks.iter().map(growth).sum(),
            biggest: all.max().unwrap_or(0),
            runs_again: plan.chunks.iter().any(|attempts| attempts.len() > 1),
            stops: plan.stop.is_some(),
            bytes: 0,
            slots: 0,
            started: 0,
        }
    }

    pub fn reserve(&mut self, bytes: usize) {
        self.bytes += bytes as isize;
        self.slots += 1;
        self.check();
    }

    pub fn release(&mut self, bytes: usize) {
        self.bytes -= bytes as isize;
        self.slots -= 1;
    }

    /// Books a change of a charge to come, if it gives bytes back.
    pub fn before(&mut self, old: usize, new: usize) {
        self.bytes -= old.saturating_sub(new) as isize;
    }

    /// Books a change of a charge that took place, if it took bytes.
    pub fn after(&mut self, old: usize, new: usize) {
        self.bytes += new.saturating_sub(old) as isize;
        self.check();
    }

    pub fn start(&mut self) {
        self.started += 1;
        let head_again = usize::from(self.runs_again);
        assert!(self.started <= (self.limits.started + head_again) as isize);
    }

    pub fn end(&mut self) {
        self.started -= 1;
    }

    fn check(&self) {
        let within = self.bytes <= (self.limits.bytes + self.growth) as isize;
        assert!(within || self.slots <= 1, "the budget is kept");
        assert!(
            self.slots <= self.limits.slots as isize,
            "the slots are kept"
        );
    }

    pub fn check_end(&self, order: &Flow) {
        let limit = self.limits.bytes + self.growth;
        assert!(order.peak() <= limit.max(self.biggest));
        assert!(order.peak() >= order.in_flight());
        if !self.stops {
            assert_eq!((self.bytes, self.slots, self.started), (0, 0, 0));
            assert_eq!(order.in_flight(), 0);
        }
    }
}
