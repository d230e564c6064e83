//! Styles for terminals with 256, sixteen and no colours.
//!
//! A colour stands for a family of states and a letter for a state, so that no information is in
//! colours alone. The 256-colour palette is Okabe and Ito's (Color Universal Design, 2008), made
//! for all kinds of colour vision, by the nearest entries of the fixed part of the table.

use ratatui::style::{Color, Modifier, Style};
use report::change::Change;
use report::text::colours::Colours;
use report::timeline::{Activity, Family};

/// The styles of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Theme {
    /// Its colours.
    pub colours: Colours,
}

impl Theme {
    /// The background of a cell of the timeline, and the letter on it.
    pub fn activity(&self, activity: Activity) -> Style {
        self.family(activity.family())
    }

    /// A family's background with a foreground that can be read on it.
    pub fn family(&self, family: Family) -> Style {
        let (many, dark_text) = family.terminal_colour();
        let sixteen = match family {
            Family::Serial => Color::Cyan,
            Family::Work => Color::Green,
            Family::Runtime => Color::Magenta,
            Family::Barrier => Color::Red,
            Family::Exclusion => Color::Yellow,
            Family::Task => Color::Blue,
            Family::Messages => Color::LightMagenta,
            Family::Idle => Color::DarkGray,
            Family::Unknown => Color::White,
        };
        let text = |light, dark| if dark_text { dark } else { light };
        match self.colours {
            Colours::None => Style::new(),
            Colours::Sixteen => Style::new()
                .bg(sixteen)
                .fg(text(Color::White, Color::Black)),
            Colours::Many => Style::new()
                .bg(Color::Indexed(many))
                .fg(text(Color::Indexed(231), Color::Indexed(16))),
        }
    }

    /// The colour that fills a part of a cell for an activity.
    pub fn block(&self, activity: Activity) -> Color {
        self.activity(activity).bg.unwrap_or(Color::Reset)
    }

    /// A family's colour as a foreground.
    pub fn text_colour(&self, family: Family) -> Style {
        let style = self.family(family);
        match (self.colours, family) {
            (Colours::None, _) => Style::new(),
            // Dark blue and grey cannot be read on black.
            (Colours::Many, Family::Task) => Style::new().fg(Color::Indexed(75)),
            (Colours::Many, Family::Idle) => Style::new().fg(Color::Indexed(246)),
            _ => style
                .bg
                .map_or(Style::new(), |colour| Style::new().fg(colour)),
        }
    }

    /// The selected line.
    pub const fn selected(&self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// A heading.
    pub const fn strong(&self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Less important text.
    pub fn faint(&self) -> Style {
        match self.colours {
            Colours::None => Style::new().add_modifier(Modifier::DIM),
            Colours::Sixteen => Style::new().fg(Color::DarkGray),
            Colours::Many => Style::new().fg(Color::Indexed(246)),
        }
    }

    /// A warning.
    pub fn warning(&self) -> Style {
        match self.colours {
            Colours::None => self.strong(),
            Colours::Sixteen => Style::new().fg(Color::Yellow).add_modifier(Modifier::BOLD),
            Colours::Many => Style::new().fg(Color::Indexed(221)),
        }
    }

    /// The wrong part of an edited line.
    pub fn mistake(&self) -> Style {
        self.warning().add_modifier(Modifier::UNDERLINED)
    }

    /// The tab of the current view.
    pub fn tab(&self) -> Style {
        self.selected().add_modifier(Modifier::BOLD)
    }

    /// A key in a hint.
    pub fn key(&self) -> Style {
        match self.colours {
            Colours::None => self.strong(),
            Colours::Sixteen => Style::new().fg(Color::Cyan).add_modifier(Modifier::BOLD),
            Colours::Many => Style::new()
                .fg(Color::Indexed(81))
                .add_modifier(Modifier::BOLD),
        }
    }

    /// A name that matches the search.
    pub fn search_hit(&self) -> Style {
        Style::new().add_modifier(Modifier::UNDERLINED)
    }

    /// A box of the flame graph that is not a state: by the hash of its name.
    pub fn flame(&self, number: u64) -> Style {
        const MANY: [u8; 5] = [180, 179, 216, 223, 186];
        match self.colours {
            Colours::None => match number % 2 {
                0 => Style::new(),
                _ => Style::new().add_modifier(Modifier::DIM),
            },
            Colours::Sixteen => {
                let colour = match number % 2 {
                    0 => Color::Gray,
                    _ => Color::White,
                };
                Style::new().bg(colour).fg(Color::Black)
            }
            Colours::Many => {
                let colour = MANY[(number % MANY.len() as u64) as usize];
                Style::new()
                    .bg(Color::Indexed(colour))
                    .fg(Color::Indexed(16))
            }
        }
    }

    /// A box of the flame graph in a comparison: blue for less, orange for more, which all kinds of
    /// colour vision distinguish.
    pub fn change(&self, change: Change) -> Style {
        let (many, text, sixteen) = match change {
            Change::Gone => (25, 231, Color::Blue),
            Change::MuchLess => (74, 16, Color::Blue),
            Change::Less => (153, 16, Color::Cyan),
            Change::Same => (253, 16, Color::White),
            Change::More => (222, 16, Color::Yellow),
            Change::MuchMore => (208, 16, Color::Red),
            Change::New => (130, 231, Color::Red),
        };
        match self.colours {
            Colours::None => match change {
                Change::Same => Style::new().add_modifier(Modifier::DIM),
                _ => Style::new(),
            },
            Colours::Sixteen => Style::new().bg(sixteen).fg(Color::Black),
            Colours::Many => Style::new()
                .bg(Color::Indexed(many))
                .fg(Color::Indexed(text)),
        }
    }

    /// A thread that was runnable without a CPU.
    pub fn preempted(&self) -> Style {
        self.text_colour(Family::Barrier)
    }
}
