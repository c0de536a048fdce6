//! Horizontal bars in groups. Each group has its own scale.

use super::{MARGIN, SUBTITLE_BASELINE, Svg, WIDTH, short};

/// The height of a bar's row.
const ROW_HEIGHT: f64 = 22.0;

/// The height of a bar.
const BAR_HEIGHT: f64 = 14.0;

/// The space above a group's rows, with its label.
const GROUP_HEAD: f64 = 34.0;

/// The width of the labels.
const LABEL_WIDTH: f64 = 205.0;

/// The width after the longest bar, for its value.
const VALUE_WIDTH: f64 = 290.0;

/// Bars in groups.
#[derive(Debug)]
pub(crate) struct BarChart {
    pub(crate) title: String,
    /// What a bar shows, with its unit.
    pub(crate) subtitle: String,
    pub(crate) groups: Vec<BarGroup>,
}

/// Bars with a common scale.
#[derive(Debug)]
pub(crate) struct BarGroup {
    /// Empty if the chart has only one group.
    pub(crate) label: String,
    pub(crate) bars: Vec<Bar>,
}

/// One bar.
#[derive(Debug)]
pub(crate) struct Bar {
    pub(crate) label: String,
    pub(crate) value: f64,
    /// Follows the value.
    pub(crate) note: String,
    pub(crate) kind: BarKind,
}

/// What a bar is about; it determines the colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BarKind {
    /// Moongate.
    Own,
    /// A native server, without a sandbox.
    Native,
}

impl BarKind {
    const ALL: [Self; 2] = [Self::Own, Self::Native];

    fn class(self) -> &'static str {
        match self {
            Self::Own => "own",
            Self::Native => "native",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Own => "Moongate",
            Self::Native => "native server",
        }
    }
}

impl BarChart {
    /// The whole file.
    pub(crate) fn draw(&self) -> String {
        let head = |group: &BarGroup| if group.label.is_empty() { 12.0 } else { GROUP_HEAD };
        let rows = |group: &BarGroup| group.bars.len() as f64 * ROW_HEIGHT;
        let groups: f64 = self.groups.iter().map(|group| head(group) + rows(group)).sum();
        let mut svg = Svg::open(SUBTITLE_BASELINE + groups + MARGIN, &self.title, &self.subtitle);
        self.legend(&mut svg);
        let mut y = SUBTITLE_BASELINE;
        for group in &self.groups {
            svg.text("group", MARGIN, y + head(group) - 10.0, &group.label);
            y += head(group);
            let longest = group.bars.iter().map(|bar| bar.value).fold(f64::MIN_POSITIVE, f64::max);
            let left = MARGIN + LABEL_WIDTH;
            let scale = (WIDTH - left - VALUE_WIDTH - MARGIN) / longest;
            for bar in &group.bars {
                let baseline = y + BAR_HEIGHT - 2.0;
                let width = (bar.value * scale).max(1.0);
                svg.text("end", left - 8.0, baseline, &bar.label);
                svg.rect(bar.kind.class(), left, y, width, BAR_HEIGHT);
                let value = format!("{} {}", short(bar.value), bar.note);
                svg.text("muted", left + width + 6.0, baseline, value.trim_end());
                y += ROW_HEIGHT;
            }
        }
        svg.close()
    }

    /// The kinds of bars, if there are several.
    fn legend(&self, svg: &mut Svg) {
        let bars = || self.groups.iter().flat_map(|group| &group.bars);
        let kinds: Vec<BarKind> =
            BarKind::ALL.into_iter().filter(|kind| bars().any(|bar| bar.kind == *kind)).collect();
        if kinds.len() < 2 {
            return;
        }
        let mut x = WIDTH - MARGIN - 128.0 * kinds.len() as f64;
        for kind in kinds {
            svg.rect(kind.class(), x, SUBTITLE_BASELINE - 11.0, 12.0, 12.0);
            svg.text("muted", x + 18.0, SUBTITLE_BASELINE, kind.name());
            x += 128.0;
        }
    }
}
