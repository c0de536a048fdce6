//! Callers that compete for one budget.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::{BudgetShare, CallerBudget};
use crate::caller::Caller;

type Waiting = Pin<Box<dyn Future<Output = BudgetShare>>>;

fn caller(name: &str) -> Caller {
    Caller::Named(name.into())
}

/// A reservation in its queue.
fn waiting(budget: &Arc<CallerBudget>, name: &str) -> Waiting {
    waiting_for(budget, name, 1)
}

fn waiting_for(budget: &Arc<CallerBudget>, name: &str, amount: u64) -> Waiting {
    let (budget, caller) = (Arc::clone(budget), caller(name));
    let mut waiting: Waiting = Box::pin(async move { budget.reserve(&caller, amount).await });
    assert!(poll(&mut waiting).is_none(), "{name} needn't wait");
    waiting
}

fn poll(waiting: &mut Waiting) -> Option<BudgetShare> {
    match waiting.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(share) => Some(share),
        Poll::Pending => None,
    }
}

fn take(budget: &Arc<CallerBudget>, name: &str) -> Vec<BudgetShare> {
    std::iter::from_fn(|| budget.try_reserve(&caller(name), 1)).collect()
}

#[test]
fn a_caller_leaves_a_reserve_when_alone_and_half_when_not() {
    let budget = CallerBudget::new(16);
    let first = take(&budget, "first");
    assert_eq!(first.len(), 14);
    let second = take(&budget, "second");
    assert_eq!((second.len(), budget.used()), (2, 16));
    drop(first);
    assert_eq!((take(&budget, "second").len(), take(&budget, "third").len()), (12, 2));
    drop(second);
    assert_eq!(budget.used(), 0);
}

#[test]
fn small_budgets_and_the_local_caller_have_no_reserve() {
    for total in 1..8 {
        assert_eq!(take(&CallerBudget::new(total), "first").len() as u64, total);
    }
    let budget = CallerBudget::new(16);
    assert!(
        (0..16)
            .map(|_| budget.try_reserve(&Caller::Local, 1))
            .collect::<Vec<_>>()
            .iter()
            .all(Option::is_some)
    );
}

#[test]
fn waiting_callers_take_turns() {
    let budget = CallerBudget::new(2);
    let mut held = take(&budget, "holder");
    let mut queue: Vec<_> = ["a", "a", "a", "b", "c"].map(|name| (name, waiting(&budget, name))).into();
    let mut order = Vec::new();
    while let Some(share) = held.pop() {
        drop(share);
        queue.retain_mut(|(name, waiting)| match poll(waiting) {
            Some(share) => {
                order.push(*name);
                held.insert(0, share);
                false
            }
            None => true,
        });
    }
    assert_eq!(order, ["a", "b", "c", "a", "a"]);
}

#[test]
fn dropped_reservations_return_what_they_got() {
    let budget = CallerBudget::new(1);
    let held = take(&budget, "holder");
    let (first, second, mut third) = (waiting(&budget, "a"), waiting(&budget, "b"), waiting(&budget, "c"));
    drop(second); // while it waits
    drop(held); // grants to `a`
    drop(first); // granted, but never polled again
    let share = poll(&mut third).expect("`c` is next");
    assert_eq!(budget.used(), 1);
    drop(share);
    assert_eq!(budget.used(), 0);
}

#[test]
fn a_caller_that_stops_waiting_frees_the_allowance_of_others() {
    let budget = CallerBudget::new(8);
    let held = take(&budget, "holder");
    assert_eq!(held.len(), 7);
    let last = take(&budget, "other");
    let mut more = waiting(&budget, "holder");
    drop(last);
    assert!(poll(&mut more).is_none(), "the reserve was used");
    drop(held);
    assert!(poll(&mut more).is_some());
}

#[test]
fn shares_grow_and_shrink_within_the_allowance() {
    let budget = CallerBudget::new(100);
    let mut share = budget.try_reserve(&caller("a"), 10).unwrap();
    assert!(share.try_grow(70) && !share.try_grow(20));
    let other = budget.try_reserve(&caller("b"), 20).unwrap();
    share.shrink(50);
    assert_eq!((share.amount(), budget.used(), budget.held_by(&caller("a"))), (30, 50, 30));
    assert!(share.try_grow(20) && !share.try_grow(1), "half while another holds something");
    drop((share, other));
    assert_eq!(budget.used(), 0);
}

#[test]
fn amounts_above_half_count_as_half() {
    let budget = CallerBudget::new(100);
    assert_eq!(budget.try_reserve(&caller("a"), u64::MAX).unwrap().amount(), 50);
}

#[test]
fn a_smaller_total_applies_as_shares_return() {
    let budget = CallerBudget::new(4);
    let mut held = take(&budget, "a");
    budget.set_total(2);
    let mut next = waiting(&budget, "b");
    held.truncate(2);
    assert!(poll(&mut next).is_none());
    held.truncate(1);
    assert!(poll(&mut next).is_some());
}

#[test]
fn a_caller_with_less_is_next() {
    let budget = CallerBudget::new(1);
    let held = take(&budget, "holder");
    let (mut more, mut first, mut second) =
        (waiting(&budget, "holder"), waiting(&budget, "a"), waiting(&budget, "b"));
    drop(held);
    drop(poll(&mut first).expect("`a` holds nothing"));
    drop(poll(&mut second).expect("`b` waits for longer than the second share of `holder`"));
    assert!(poll(&mut more).is_some());
}

#[test]
fn a_charge_overdraws_the_budget_until_it_is_returned() {
    let budget = CallerBudget::new(8);
    let charged = budget.charge(&caller("first"), 20);
    assert_eq!((charged.amount(), charged.caller()), (20, &caller("first")));
    assert_eq!((budget.used(), budget.held_by(&caller("first"))), (20, 20));
    assert!(budget.try_reserve(&caller("second"), 1).is_none());
    drop(charged);
    assert_eq!((budget.used(), take(&budget, "second").len()), (0, 7));
}

#[test]
fn small_reservations_dont_overtake_a_large_one_of_another_caller() {
    let budget = CallerBudget::new(100);
    let reserve = |name: &str| budget.try_reserve(&caller(name), 10);
    let mut held: VecDeque<_> = ["b", "c"].into_iter().cycle().take(9).filter_map(reserve).collect();
    let mut large = waiting_for(&budget, "a", 40);
    assert!(reserve("c").is_none() && reserve("new").is_none(), "10 are free, but not for them");
    let mut small = ["b", "c", "d"].map(|name| waiting_for(&budget, name, 10));
    let granted = loop {
        assert!(small.iter_mut().all(|small| poll(small).is_none()));
        assert!(budget.is_short());
        let share = held.pop_front().expect("the large one is granted when enough is free");
        drop(share);
        if let Some(granted) = poll(&mut large) {
            break granted;
        }
    };
    assert_eq!((held.len(), granted.amount()), (6, 40));
    let mut last = held.pop_front().unwrap();
    assert!(!last.try_grow(1), "all is used");
    drop(granted);
    assert!(small.iter_mut().all(|small| poll(small).is_some()) && !budget.is_short());
    assert!(last.try_grow(1));
}

#[test]
fn a_caller_at_its_allowance_doesnt_hold_up_others() {
    let budget = CallerBudget::new(100);
    let half = budget.try_reserve(&caller("a"), 50);
    let other = budget.try_reserve(&caller("b"), 10).unwrap();
    let mut own = waiting_for(&budget, "a", 20);
    assert!(!budget.is_short() && budget.is_waiting(&caller("a")));
    assert!(!budget.may_reserve(&caller("a"), 1), "the first of `a` is next");
    assert!(budget.may_reserve(&caller("b"), 40) && !other.may_grow(41));
    assert!(budget.try_reserve(&caller("b"), 10).is_some());
    assert!(budget.try_reserve(&caller("a"), 0).is_none(), "its own reservation is next");
    drop(half);
    assert!(poll(&mut own).is_some());
}

#[test]
fn shares_grow_while_others_wait() {
    let budget = CallerBudget::new(100);
    let mut growing = budget.try_reserve(&caller("b"), 40).unwrap();
    let other = budget.try_reserve(&caller("c"), 40).unwrap();
    let mut large = waiting_for(&budget, "a", 50);
    assert!(growing.try_grow(10), "a call that can't grow would fail");
    drop(other);
    assert!(poll(&mut large).is_some());
}
