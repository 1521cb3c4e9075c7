//! Badges: how many URLs are broken and ok, and when that was checked. An image cannot know its age, so the
//! date is always there.

use jiff::Timestamp;
use serde_json::json;
use urldb_protocol::{Counts, ImpairedRun};
use urldb_render::Mark;
use urldb_render::numbers::shares;

const LABEL: &str = "URLs";

/// Width of the label, in pixels.
const LABEL_WIDTH: u64 = 41;

pub(crate) struct Badge {
    mark: Mark,
    message: String,
}

/// The badge of a run without results for most URLs.
pub(crate) fn impaired_badge(impaired: &ImpairedRun) -> Badge {
    Badge {
        mark: Mark::Unknown,
        message: format!("not known · {}", impaired.at.strftime("%-d %b")),
    }
}

/// The badge of these counts, checked at `at`.
pub(crate) fn badge(counts: &Counts, at: Option<Timestamp>) -> Badge {
    let message = match at {
        Some(at) if counts.urls > 0 => format!("{} · {}", shares(counts), at.strftime("%-d %b")),
        _ => "not checked yet".to_owned(),
    };
    let mark = match at {
        Some(_) => Mark::of(counts),
        None => Mark::Unknown,
    };
    Badge { mark, message }
}

impl Badge {
    /// The picture. Nothing in it comes from outside.
    pub(crate) fn svg(&self) -> String {
        // About the width of Verdana at 11 pixels; `textLength` makes it exact.
        let text: u64 = self
            .message
            .chars()
            .map(|char| match char {
                ' ' | ',' | '·' | 'i' | 'l' | 't' | 'f' | 'j' => 4,
                'm' | 'w' | 'M' | 'A' | 'N' | 'O' | 'D' => 9,
                _ => 7,
            })
            .sum();
        let (right, width) = (text + 26, LABEL_WIDTH + text + 26);
        let mark = match self.mark {
            Mark::Kept => "M1.6 6 4.4 8.8 9.6 2.8",
            Mark::Broken => "M2.6 2.4 9 8.8M9 2.4 2.6 8.8",
            Mark::Unsteady => "M5.8 2.2V6.6M5.8 8.8V9",
            Mark::Unknown => "M2 5.6h7",
        };
        let (message, colour) = (&self.message, colour(self.mark));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"20\" role=\"img\" \
             aria-label=\"{LABEL}: {message}\">\n<title>{LABEL}: {message}</title>\n<clipPath id=\"r\"><rect \
             width=\"{width}\" height=\"20\" rx=\"3\"/></clipPath>\n<g clip-path=\"url(#r)\"><path \
             fill=\"#3b4249\" d=\"M0 0h{LABEL_WIDTH}v20H0z\"/><path fill=\"#{colour}\" d=\"M{LABEL_WIDTH} \
             0h{right}v20H{LABEL_WIDTH}z\"/></g>\n<path fill=\"none\" stroke=\"#fff\" stroke-width=\"1.8\" \
             stroke-linecap=\"round\" stroke-linejoin=\"round\" transform=\"translate(45.5 4.4)\" \
             d=\"{mark}\"/>\n<g fill=\"#fff\" font-family=\"Verdana,DejaVu Sans,Geneva,sans-serif\" \
             font-size=\"11\"><text x=\"6\" y=\"14\" textLength=\"29\">{LABEL}</text><text x=\"61\" y=\"14\" \
             textLength=\"{text}\">{message}</text></g>\n</svg>\n"
        )
    }

    /// The document of an endpoint badge of shields.io.
    pub(crate) fn json(&self) -> String {
        let document = json!({
            "schemaVersion": 1,
            "label": LABEL,
            "message": self.message,
            "color": colour(self.mark),
            "cacheSeconds": 3600,
        });
        format!("{document}\n")
    }
}

/// The colour of a mark, without `#`.
fn colour(mark: Mark) -> &'static str {
    match mark {
        Mark::Kept => "1f6b57",
        Mark::Broken => "a8281b",
        Mark::Unsteady => "7a5200",
        Mark::Unknown => "57606a",
    }
}
