//! Load over stdio: one server process with a window of concurrent calls.

use std::collections::HashMap;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::Plan;
use crate::figures::Figures;
use crate::message::{INITIALIZED, Spec, Template, find_id, shown};
use crate::process;

/// A server as a child process. It ends when its stdin is closed.
pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) pid: Option<u32>,
    pub(crate) input: ChildStdin,
    pub(crate) output: BufReader<ChildStdout>,
}

impl Server {
    /// # Errors
    /// The program can't be started.
    pub(crate) fn start(command: &[String]) -> anyhow::Result<Self> {
        let (program, args) = command.split_first().context("no command after `--`")?;
        let mut child = Command::new(program)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("starting {program}"))?;
        let input = child.stdin.take().context("no stdin")?;
        let output = BufReader::with_capacity(256 * 1024, child.stdout.take().context("no stdout")?);
        Ok(Self { pid: child.id(), child, input, output })
    }

    /// Sends one message as a line.
    pub(crate) async fn send(&mut self, message: &str) -> anyhow::Result<()> {
        self.input.write_all(format!("{message}\n").as_bytes()).await.context("sending")
    }

    /// Waits for the answer to `id` and skips other messages.
    pub(crate) async fn answer(&mut self, id: u64) -> anyhow::Result<Vec<u8>> {
        loop {
            let mut line = Vec::new();
            let read = self.output.read_until(b'\n', &mut line).await.context("receiving")?;
            ensure!(read > 0, "the server ended its output");
            ensure!(line.starts_with(b"{"), "not a message: {}", shown(&line));
            if find_id(&line) == Some(id) {
                return Ok(line);
            }
        }
    }

    /// Performs the handshake, if there is one.
    pub(crate) async fn greet(&mut self, spec: &Spec) -> anyhow::Result<()> {
        if spec.handshake() {
            self.send(&spec.initialize()).await?;
            self.answer(0).await?;
            self.send(INITIALIZED).await?;
        }
        Ok(())
    }

    /// Ends the server like a client, by closing its stdin.
    ///
    /// # Errors
    /// The server doesn't end.
    pub(crate) async fn end(self) -> anyhow::Result<()> {
        let Self { mut child, pid: _, input, output } = self;
        drop((input, output));
        timeout(Duration::from_secs(10), child.wait()).await.context("it outlives its input")??;
        Ok(())
    }
}

/// Runs the plan against a server that it starts.
///
/// # Errors
/// The server can't be started, or an answer is wrong. A single wrong answer ends the run.
pub(crate) async fn run(command: &[String], spec: &Spec, plan: &Plan) -> anyhow::Result<Value> {
    let template = Template::new(spec)?;
    let mut server = Server::start(command)?;
    timeout(plan.patience, server.greet(spec)).await.context("no answer to the handshake")??;
    server.send(&spec.list(1)).await?; // waits for a server that loads lazily
    timeout(plan.patience, server.answer(1)).await.context("no list of tools")??;
    let idle = server.pid.and_then(process::resident_kib);

    let Server { child, pid, input, output } = server;
    let (queue, orders) = mpsc::unbounded_channel(); // never more than the window
    let writer = tokio::spawn(write(input, template.clone(), orders));
    let mut window =
        Window { template, queue, output, sent: HashMap::new(), next: 2, patience: plan.patience };
    window.drive(plan.width, plan.warm_up, &mut Figures::begin(None, None)).await?;
    let mut figures = Figures::begin(pid, idle);
    window.drive(plan.width, plan.time, &mut figures).await?;
    let figures = figures.finish()?;

    let Window { queue, output, .. } = window;
    drop(queue);
    let input = writer.await.context("the writer ended early")?.context("sending")?;
    Server { child, pid, input, output }.end().await?;
    Ok(figures)
}

/// Writes all queued requests together. This is a separate task, because a full pipe in one direction must not block the
/// other direction.
async fn write(
    mut input: ChildStdin,
    template: Template,
    mut orders: mpsc::UnboundedReceiver<u64>,
) -> std::io::Result<ChildStdin> {
    let mut lines = Vec::new();
    while let Some(mut id) = orders.recv().await {
        lines.clear();
        loop {
            template.write(id, &mut lines);
            lines.push(b'\n');
            match orders.try_recv() {
                Ok(another) => id = another,
                Err(_) => break,
            }
        }
        input.write_all(&lines).await?;
    }
    Ok(input)
}

/// The concurrent calls.
struct Window {
    template: Template,
    queue: mpsc::UnboundedSender<u64>,
    output: BufReader<ChildStdout>,
    sent: HashMap<u64, Instant>,
    next: u64,
    patience: Duration,
}

impl Window {
    /// Keeps `width` calls in flight for `time`, then waits for the last answers.
    async fn drive(&mut self, width: usize, time: Duration, figures: &mut Figures) -> anyhow::Result<()> {
        let end = Instant::now() + time;
        for _ in 0..width {
            self.order()?;
        }
        let mut line = Vec::new();
        while !self.sent.is_empty() {
            line.clear();
            let waiting = self.sent.len();
            let read = timeout(self.patience, self.output.read_until(b'\n', &mut line))
                .await
                .with_context(|| format!("{waiting} calls were never answered"))?
                .context("receiving")?;
            ensure!(read > 0, "the server ended its output with {waiting} calls in flight");
            let now = Instant::now();
            ensure!(line.starts_with(b"{"), "not a message: {}", shown(&line));
            let id = find_id(&line).with_context(|| format!("no id: {}", shown(&line)))?;
            let at = self.sent.remove(&id).with_context(|| format!("an answer with the unknown id {id}"))?;
            self.template.check(id, &line)?;
            figures.record(now - at);
            if now < end {
                self.order()?;
            }
        }
        Ok(())
    }

    fn order(&mut self) -> anyhow::Result<()> {
        self.sent.insert(self.next, Instant::now());
        self.queue.send(self.next).context("the writer ended early")?;
        self.next += 1;
        Ok(())
    }
}
