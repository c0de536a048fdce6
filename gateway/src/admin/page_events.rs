//! Keeps open pages up to date: an event for each section that changed (HTML Standard, Server-sent events).

use std::collections::HashMap;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::unfold;
use moongate_system::background::{MovableFuture, WorkOwner, move_to_background};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::admin::page::{self, PageContent};

/// The interval at which the page is compared with the one that was sent.
const INTERVAL: Duration = Duration::from_secs(1);

/// The time after which something is sent even if nothing changed, so that closed connections are noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The content of a section.
#[derive(Debug)]
pub(super) struct RenderedSection {
    id: &'static str,
    html: String,
    hash: u64,
}

/// All sections at one moment.
pub(super) type RenderedPage = Arc<Vec<RenderedSection>>;

/// The page, which is rendered once for all open pages.
#[derive(Debug, Default)]
pub(super) struct SharedPage(Mutex<Option<(Instant, RenderedPage)>>);

/// The state of a stream. `held` is kept while it is open.
struct PageStream<C, H> {
    content: C,
    draining: CancellationToken,
    /// The hash of each section that was sent.
    sent: HashMap<&'static str, u64>,
    next: Instant,
    last_sent: Instant,
    _held: H,
}

impl SharedPage {
    /// The current page, or one that is less than a second old. `None` if there is no content. A page with many plugins
    /// takes long to render, so it is rendered on the background pool.
    pub(super) async fn current(
        &self,
        content: impl FnOnce() -> Option<PageContent> + Send + 'static,
    ) -> Option<RenderedPage> {
        let mut last = self.0.lock().await;
        if let Some((at, page)) = &*last
            && at.elapsed() < INTERVAL
        {
            return Some(Arc::clone(page));
        }
        let rendering = MovableFuture::new(async move {
            move_to_background(WorkOwner::default()).await;
            Some(rendered(&content()?))
        });
        let page = rendering.await?;
        *last = Some((Instant::now(), Arc::clone(&page)));
        Some(page)
    }
}

fn rendered(content: &PageContent) -> RenderedPage {
    let sections = page::sections(content).into_iter().map(|(id, html)| {
        let mut hasher = DefaultHasher::new();
        html.hash(&mut hasher);
        RenderedSection { id, html, hash: hasher.finish() }
    });
    Arc::new(sections.collect())
}

/// The changes of the page, until `content` returns nothing or the gateway stops. The first event is a complete page.
pub(super) fn page_events<C, F, H>(
    content: C,
    draining: CancellationToken,
    held: H,
) -> impl Stream<Item = Result<Bytes, Infallible>>
where
    C: Fn() -> F,
    F: Future<Output = Option<RenderedPage>>,
{
    let now = Instant::now();
    let start =
        PageStream { content, draining, sent: HashMap::new(), next: now, last_sent: now, _held: held };
    unfold(start, |mut stream| async move {
        let changes = stream.next_changes().await?;
        Some((Ok(Bytes::from(changes)), stream))
    })
}

impl<C, F, H> PageStream<C, H>
where
    C: Fn() -> F,
    F: Future<Output = Option<RenderedPage>>,
{
    /// Waits until something is to be sent.
    async fn next_changes(&mut self) -> Option<String> {
        loop {
            tokio::select! {
                () = sleep_until(self.next) => {}
                () = self.draining.cancelled() => return None,
            }
            let page = tokio::select! {
                page = (self.content)() => page?,
                () = self.draining.cancelled() => return None,
            };
            let mut changes = String::new();
            for RenderedSection { id, html, hash } in &*page {
                if self.sent.insert(id, *hash) != Some(*hash) {
                    write_event(&mut changes, id, html);
                }
            }
            let now = Instant::now();
            self.next = now + INTERVAL;
            if changes.is_empty() && now.duration_since(self.last_sent) >= KEEP_ALIVE {
                changes.push_str(":\n\n");
            }
            if !changes.is_empty() {
                self.last_sent = now;
                return Some(changes);
            }
        }
    }
}

/// Appends an event. Every kind of line break would end its field.
fn write_event(out: &mut String, name: &str, data: &str) {
    let _ = writeln!(out, "event: {name}");
    for line in data.split(['\n', '\r']) {
        let _ = writeln!(out, "data: {line}");
    }
    out.push('\n');
}

#[cfg(test)]
mod tests;
