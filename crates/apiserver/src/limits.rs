//! Bounds on what clients can ask for.

use std::time::Duration;

use lanai_types::ByteSize;

/// How much the server takes on. Every limit is inclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The body of a request.
    pub max_body: ByteSize,
    /// Requests that are worked on at the same time, watches apart.
    pub max_requests: usize,
    /// The same for one user.
    pub max_requests_per_user: usize,
    /// Watches that are open at the same time.
    pub max_watches: usize,
    /// The same for one user.
    pub max_watches_per_user: usize,
    /// How long a request may take, its body included; watches apart.
    pub request_time: Duration,
    /// How long a watch stays open.
    pub watch_time: Duration,
}

impl Limits {
    /// The limits of somebody who configures nothing.
    pub const DEFAULT: Self = Self {
        max_body: ByteSize::mib(6),
        max_requests: 400,
        max_requests_per_user: 200,
        max_watches: 20_000,
        max_watches_per_user: 10_000,
        request_time: Duration::from_mins(1),
        watch_time: Duration::from_hours(1),
    };
}

impl Default for Limits {
    fn default() -> Self {
        Self::DEFAULT
    }
}
