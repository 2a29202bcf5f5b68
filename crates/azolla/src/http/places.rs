//! Room for connections: so many at once, and so many of one address, so that none of them takes it all.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Connections at once. More wait until one has ended.
const CONNECTIONS_MAX: usize = 256;
/// Connections of one address. More are closed at once: to let them wait would hold up others. A proxy on this machine is
/// one address, so this is not few.
const OF_ONE_MAX: usize = CONNECTIONS_MAX / 2;

/// All the room there is.
pub(super) struct Places {
    all: Arc<Semaphore>,
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// The share of one address, less by one connection until it is dropped.
pub(super) struct Share {
    address: IpAddr,
    taken: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

impl Places {
    pub(super) fn new() -> Self {
        Self { all: Arc::new(Semaphore::new(CONNECTIONS_MAX)), taken: Arc::default() }
    }

    /// Waits until there is room for one more.
    pub(super) async fn room(&self) -> std::io::Result<OwnedSemaphorePermit> {
        self.all.clone().acquire_owned().await.map_err(std::io::Error::other)
    }

    /// Takes from the share of an address; none if that is used up.
    pub(super) fn share(&self, remote: IpAddr) -> Option<Share> {
        let address = one(remote);
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let count = taken.entry(address).or_default();
        if *count >= OF_ONE_MAX {
            return None;
        }
        *count += 1;
        Some(Share { address, taken: self.taken.clone() })
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = taken.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                taken.remove(&self.address);
            }
        }
    }
}

/// Returns what counts as one address: whoever has one of IPv6 has all of its network.
pub(crate) fn one(remote: IpAddr) -> IpAddr {
    match remote.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        address => address,
    }
}

#[cfg(test)]
mod tests;
