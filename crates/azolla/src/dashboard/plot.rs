//! Small plots as SVG, each with its data in words beside it: nothing is told by a drawing alone.

use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};

/// The size of a plot in its own units; the page scales it.
const WIDTH: f64 = 320.0;
const HEIGHT: f64 = 64.0;
/// The most that one bar takes of it.
const WIDTH_MAX: f64 = 16.0;

/// One value of a plot.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    /// How much.
    pub(super) value: u64,
    /// Whether it stands out.
    pub(super) is_bad: bool,
}

/// A plot.
pub(super) struct Plot<'a> {
    /// What it shows.
    pub(super) title: &'a str,
    /// The same in a sentence.
    pub(super) words: String,
}

/// Draws one bar per value, the oldest first.
pub(super) fn bars(plot: &Plot<'_>, points: &[Point]) -> Markup {
    let most = points.iter().map(|point| point.value).max().unwrap_or(0).max(1);
    // A few bars are bars too, and not walls.
    let step = (WIDTH / points.len().max(1) as f64).min(WIDTH_MAX);
    let mut shapes = String::new();
    for (at, point) in points.iter().enumerate() {
        // What is there shows, however little it is.
        let height = match point.value {
            0 => 1.0,
            value => (share(value, most) * (HEIGHT - 4.0)).max(2.0),
        };
        let class = if point.is_bad { "bad" } else { "good" };
        let (x, y, width) = (at as f64 * step, HEIGHT - height, (step - 1.5).max(1.0));
        let _ = write!(
            shapes,
            "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
        );
    }
    drawn(plot, &shapes)
}

/// Draws a line of steps: each value holds from its place on, which is a share of the width.
pub(super) fn steps(plot: &Plot<'_>, points: &[(f64, u64)]) -> Markup {
    let most = points.iter().map(|(_, value)| *value).max().unwrap_or(0).max(1);
    let y = |value: u64| HEIGHT - 2.0 - share(value, most) * (HEIGHT - 6.0);
    let mut path = String::new();
    for (at, (x, value)) in points.iter().enumerate() {
        let _ = match at {
            0 => write!(path, "M{:.1} {:.1}", x * WIDTH, y(*value)),
            _ => write!(path, "H{:.1}V{:.1}", x * WIDTH, y(*value)),
        };
    }
    let _ = write!(path, "H{WIDTH}");
    drawn(plot, &format!("<path class=\"line\" d=\"{path}\"/>"))
}

fn share(value: u64, most: u64) -> f64 {
    value as f64 / most as f64
}

fn drawn(plot: &Plot<'_>, shapes: &str) -> Markup {
    html! {
        figure.plot {
            figcaption { strong { (plot.title) } " " span { (plot.words) } }
            svg viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } role="img" aria-label={ (plot.title) ": " (plot.words) } preserveAspectRatio="none" {
                // Numbers alone, written above.
                (PreEscaped(shapes))
            }
        }
    }
}

#[cfg(test)]
mod tests;
