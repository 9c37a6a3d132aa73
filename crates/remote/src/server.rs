//! Connections, from the first to the last.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use lanai_types::ByteSize;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tonic::transport::server::TcpIncoming;

use crate::health::Health;
use crate::service::{Handler, Services};

/// How a server behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerOptions {
    /// How large a message may be, in either direction.
    pub max_message: ByteSize,
    /// How long a call may take, if its caller does not wait for a shorter time.
    pub max_time: Duration,
    /// How long calls may go on when the server is to end.
    pub drain: Duration,
    /// Calls that one connection may have open.
    pub max_calls_per_connection: u32,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            max_message: crate::MAX_MESSAGE,
            max_time: Duration::from_mins(5),
            drain: Duration::from_secs(30),
            max_calls_per_connection: 256,
        }
    }
}

/// Why a server cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address cannot be had.
    #[error("cannot listen on {address}: {cause}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        cause: std::io::Error,
    },
    /// Connections cannot be served.
    #[error("cannot serve: {0}")]
    Serve(#[from] tonic::transport::Error),
}

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    services: Services,
    options: ServerOptions,
}

impl Server {
    /// Listens.
    ///
    /// # Errors
    /// When the address cannot be had.
    pub async fn bind(
        address: SocketAddr,
        handler: Arc<dyn Handler>,
        options: ServerOptions,
    ) -> Result<Self, Error> {
        let cannot = |cause| Error::Listen { address, cause };
        let listener = TcpListener::bind(address).await.map_err(cannot)?;
        let bound = listener.local_addr().map_err(cannot)?;
        let services = Services {
            handler,
            health: Health::serving(),
            max_message: options.max_message,
            max_time: options.max_time,
            cancel: CancellationToken::new(),
        };
        Ok(Self { listener, address: bound, services, options })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until it is stopped. Then it says that it does not serve any more, takes nothing new, and waits for what runs; what is not done
    /// within [`ServerOptions::drain`] is called off.
    ///
    /// # Errors
    /// When connections cannot be served.
    pub async fn run(self, stop: CancellationToken) -> Result<(), Error> {
        let Services { health, cancel, .. } = self.services.clone();
        let drain = self.options.drain;
        let ending = {
            let (stop, health) = (stop.clone(), health.clone());
            async move {
                stop.cancelled().await;
                health.ends();
                tracing::info!("the server ends when what runs is done");
            }
        };
        let server = tonic::transport::Server::builder()
            .accept_http1(true)
            .tcp_nodelay(true)
            .http2_keepalive_interval(Some(Duration::from_secs(30)))
            .http2_keepalive_timeout(Some(Duration::from_secs(20)))
            .max_concurrent_streams(self.options.max_calls_per_connection);
        let incoming = TcpIncoming::from(self.listener).with_nodelay(Some(true));
        let serving = server.serve_with_incoming_shutdown(self.services, incoming, ending);
        tokio::pin!(serving);
        let late = async {
            stop.cancelled().await;
            tokio::time::sleep(drain).await;
        };
        tokio::select! {
            done = &mut serving => return Ok(done?),
            () = late => tracing::warn!("calls that are not done are called off"),
        }
        cancel.cancel();
        // What was called off answers, and connections that nobody closes are left.
        let _ = tokio::time::timeout(Duration::from_secs(2), serving).await;
        Ok(())
    }
}
