//! Who has to leave.

use super::*;

async fn later() {
    tokio::time::advance(Duration::from_millis(10)).await;
}

fn told_to_leave(seats: &[&Seat]) -> Vec<bool> {
    seats.iter().map(|seat| seat.occupant.0.leave.is_cancelled()).collect()
}

#[tokio::test(start_paused = true)]
async fn the_one_that_was_quiet_longest_makes_room() {
    let seats = Seats::new(3);
    let busy = seats.take().await;
    let turn = busy.occupant().turn();
    later().await;
    let (first, second) = (seats.take().await, seats.take().await);
    later().await;
    first.occupant().touch();
    let mut fourth = Box::pin(seats.take());
    assert!(futures_util::poll!(&mut fourth).is_pending());
    assert_eq!(told_to_leave(&[&busy, &first, &second]), [false, false, true]);
    second.cleared().await;
    drop(second);
    later().await;
    let fourth = fourth.await;
    later().await;
    drop(turn);
    let mut fifth = Box::pin(seats.take());
    assert!(futures_util::poll!(&mut fifth).is_pending());
    assert_eq!(told_to_leave(&[&busy, &first, &fourth]), [false, true, false]);
}

#[tokio::test(start_paused = true)]
async fn while_all_are_busy_the_next_one_waits_for_the_first_that_is_not() {
    let seats = Seats::new(1);
    let only = seats.take().await;
    let turn = only.occupant().turn();
    let mut next = Box::pin(seats.take());
    assert!(timeout(Duration::from_secs(60), &mut next).await.is_err());
    assert_eq!(told_to_leave(&[&only]), [false]);
    drop(turn);
    assert!(timeout(LOOK_AGAIN * 2, &mut next).await.is_err());
    assert_eq!(told_to_leave(&[&only]), [true]);
    drop(only);
    next.await;
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_quiet_once_its_last_request_is_answered() {
    let seats = Seats::new(1);
    let seat = seats.take().await;
    let turn = seat.occupant().turn();
    assert!(timeout(Duration::from_secs(60), seat.quiet_for(Duration::from_secs(5))).await.is_err());
    drop(turn);
    let answered = Instant::now();
    seat.quiet_for(Duration::from_secs(5)).await;
    assert_eq!(answered.elapsed(), Duration::from_secs(5));
}
