//! `top`: a live terminal view of the running gateway, with the tables of the status page.

use std::io::{self, IsTerminal as _};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::Args;
use ratatui::DefaultTerminal;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::admin::activity::Activity;
use crate::cli::admin_client::AdminOptions;
use crate::cli::error::{CommandError, CommandResult};
use crate::cli::logs::request_activity;
use crate::cli::{CommonOptions, ExitKind};

mod screen;

use screen::TopScreen;

/// The interval at which the gateway is asked.
const UPDATE_INTERVAL: Duration = Duration::from_secs(1);

/// The maximum time until new data is shown. Keys have an effect at once.
const DRAW_INTERVAL: Duration = Duration::from_millis(200);

/// Show the running gateway's tools, plugins, callers and refusals on the terminal, live
#[derive(Debug, Args)]
#[command(after_help = "\
Keys:
  q, Esc, Ctrl-C   quit
  Tab, ← →         another table
  ↑ ↓, PgUp PgDn   scroll

Examples:
  moongate top
  moongate top --admin https://gateway.example.com:8932")]
pub(super) struct Top {
    #[command(flatten)]
    place: AdminOptions,
}

/// The newest state of the gateway.
#[derive(Debug, Clone, Default)]
struct TopState {
    activity: Activity,
    /// The calls per second since the previous state.
    rate: Option<f64>,
    /// The reason that the state isn't current.
    problem: Option<String>,
}

impl TopState {
    /// The state after this one, `elapsed` later.
    fn next(&self, activity: Activity, elapsed: Duration) -> Self {
        let ended = |activity: &Activity| activity.calls.last().map_or(0, |call| call.number);
        let is_same = activity.started == self.activity.started;
        let calls = ended(&activity).checked_sub(ended(&self.activity)).filter(|_| is_same);
        let rate = calls.map(|calls| calls as f64 / elapsed.as_secs_f64().max(0.001));
        Self { activity, rate, problem: None }
    }
}

impl Top {
    pub(super) async fn run(self, common: &CommonOptions) -> CommandResult {
        if !(io::stdin().is_terminal() && io::stdout().is_terminal()) {
            let hint = "run it in a terminal; for programs, use `moongate logs --format json`, or GET /activity.json";
            return Err(CommandError::new(ExitKind::Usage).message("`top` needs a terminal", Some(hint)));
        }
        let gateway = self.place.gateway(common)?;
        let mut state = TopState { activity: request_activity(&gateway, "").await?, ..TopState::default() };
        let mut asked_at = Instant::now();
        let (states, newest) = watch::channel(state.clone());
        let mut screen = tokio::task::spawn_blocking(move || show(&newest));
        loop {
            tokio::select! {
                shown = &mut screen => {
                    shown.context("the view failed")?.context("can't use the terminal")?;
                    return Ok(ExitKind::Success);
                }
                () = sleep(UPDATE_INTERVAL) => {}
            }
            match request_activity(&gateway, "").await {
                Ok(activity) => {
                    let now = Instant::now();
                    state = state.next(activity, now.duration_since(asked_at));
                    asked_at = now;
                }
                Err(error) => state.problem = Some(error.first_message()),
            }
            states.send_replace(state.clone());
        }
    }
}

/// Shows states until the user quits, or the command ends.
fn show(newest: &watch::Receiver<TopState>) -> io::Result<()> {
    let mut terminal = ratatui::try_init()?;
    let shown = run_screen(&mut terminal, newest);
    ratatui::try_restore()?;
    shown
}

fn run_screen(terminal: &mut DefaultTerminal, newest: &watch::Receiver<TopState>) -> io::Result<()> {
    let mut screen = TopScreen::default();
    while newest.has_changed().is_ok() {
        let state = newest.borrow().clone();
        terminal.draw(|frame| screen.draw(frame, &state))?;
        if event::poll(DRAW_INTERVAL)?
            && let Event::Key(key) = event::read()?
            && key.kind != KeyEventKind::Release
            && apply(&mut screen, key) == KeyEffect::Quit
        {
            break;
        }
    }
    Ok(())
}

/// The effect of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyEffect {
    Quit,
    Continue,
}

fn apply(screen: &mut TopScreen, key: KeyEvent) -> KeyEffect {
    match key.code {
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return KeyEffect::Quit,
        KeyCode::Char('q') | KeyCode::Esc => return KeyEffect::Quit,
        KeyCode::Tab | KeyCode::Right => screen.select_next_table(),
        KeyCode::BackTab | KeyCode::Left => screen.select_previous_table(),
        KeyCode::Down => screen.scroll(1),
        KeyCode::Up => screen.scroll(-1),
        KeyCode::PageDown => screen.scroll_page(1),
        KeyCode::PageUp => screen.scroll_page(-1),
        KeyCode::Home => screen.scroll(isize::MIN),
        _ => {}
    }
    KeyEffect::Continue
}
