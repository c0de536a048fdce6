//! Who is connected. Connections are limited in number, and where all seats are taken the one that was quiet longest
//! makes room: clients keep connections for later, and some never send what they began.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

/// How often to look again for a quiet connection while all are busy.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// All seats.
#[derive(Debug)]
pub(super) struct Seats {
    free: Arc<Semaphore>,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    seats: HashMap<u64, Arc<Place>>,
    /// How many were ever taken.
    count: u64,
}

/// What is known of one connection.
#[derive(Debug)]
struct Place {
    doing: Mutex<Doing>,
    leave: CancellationToken,
}

#[derive(Debug, Clone, Copy)]
struct Doing {
    /// How many requests are being answered.
    requests: usize,
    /// When the last thing happened: a request's head came, or its answer was ready.
    since: Instant,
}

/// One connection's seat; it is free again once this is dropped.
#[derive(Debug)]
pub(super) struct Seat {
    seats: Arc<Seats>,
    number: u64,
    occupant: Occupant,
    _permit: OwnedSemaphorePermit,
}

/// The connection as its requests know it: they carry it along as an extension.
#[derive(Debug, Clone)]
pub(crate) struct Occupant(Arc<Place>);

/// A request that is being answered: as long as this lives the connection isn't quiet.
#[derive(Debug)]
pub(crate) struct Turn(Arc<Place>);

impl Seats {
    /// That many.
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { free: Arc::new(Semaphore::new(most)), taken: Mutex::default() })
    }

    /// Takes a seat. Where there is none, the connection that was quiet longest is told to leave.
    pub(super) async fn take(self: &Arc<Self>) -> Seat {
        let permit = loop {
            if let Ok(permit) = Arc::clone(&self.free).try_acquire_owned() {
                break permit;
            }
            self.make_room();
            if let Ok(permit) = timeout(LOOK_AGAIN, Arc::clone(&self.free).acquire_owned()).await {
                break permit.expect("nobody closes the semaphore");
            }
        };
        let doing = Mutex::new(Doing { requests: 0, since: Instant::now() });
        let place = Arc::new(Place { doing, leave: CancellationToken::new() });
        let mut taken = self.lock();
        taken.count += 1;
        let number = taken.count;
        taken.seats.insert(number, Arc::clone(&place));
        drop(taken);
        Seat { seats: Arc::clone(self), number, occupant: Occupant(place), _permit: permit }
    }

    fn make_room(&self) {
        let taken = self.lock();
        let quiet = taken.seats.values().filter_map(|place| Some((place, place.quiet_since()?)));
        let longest = quiet.filter(|(place, _)| !place.leave.is_cancelled()).min_by_key(|(_, since)| *since);
        match longest {
            Some((place, since)) => {
                tracing::debug!(quiet = ?since.elapsed(), "a connection makes room for another");
                place.leave.cancel();
            }
            None => tracing::warn!("all connections are busy; more must wait"),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seat {
    /// The connection as its requests know it.
    pub(super) fn occupant(&self) -> Occupant {
        self.occupant.clone()
    }

    /// Waits until the connection has to make room.
    pub(super) async fn cleared(&self) {
        self.occupant.0.leave.cancelled().await;
    }

    /// Waits until nothing has happened on the connection for that long.
    pub(super) async fn quiet_for(&self, long: Duration) {
        loop {
            let end = self.occupant.0.quiet_since().unwrap_or_else(Instant::now) + long;
            if end <= Instant::now() {
                return;
            }
            sleep_until(end).await;
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.lock().seats.remove(&self.number);
    }
}

impl Occupant {
    /// Something came in.
    pub(super) fn touch(&self) {
        self.0.doing().since = Instant::now();
    }

    /// A request is being answered from now on. Until then, while its body comes in, the connection counts as quiet.
    pub(crate) fn turn(&self) -> Turn {
        self.0.doing().requests += 1;
        Turn(Arc::clone(&self.0))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut doing = self.0.doing();
        doing.requests -= 1;
        doing.since = Instant::now();
    }
}

impl Place {
    fn doing(&self) -> MutexGuard<'_, Doing> {
        self.doing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Since when nothing happens; none while a request is being answered.
    fn quiet_since(&self) -> Option<Instant> {
        let Doing { requests, since } = *self.doing();
        (requests == 0).then_some(since)
    }
}

#[cfg(test)]
mod tests;
