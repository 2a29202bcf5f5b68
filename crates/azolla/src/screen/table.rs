//! Columns on a page, as wide as what stands in them. The last one has what is left of the terminal; where that is too
//! little, it goes below the others.

use anstyle::Style;

use super::{Page, plain, width};

/// Rows of the same number of columns.
#[derive(Default)]
pub(crate) struct Table {
    rows: Vec<Vec<(Style, String)>>,
}

/// The least that a last column can be read in.
const LAST_MIN: usize = 24;

/// What stands between columns.
const GAP: usize = 2;

impl Table {
    /// Adds a row.
    pub(crate) fn row(&mut self, cells: &[(Style, &str)]) -> &mut Self {
        self.rows.push(cells.iter().map(|(style, text)| (*style, plain(text))).collect());
        self
    }

    /// Adds all rows to a page, each as one line in `columns`, or as two where they are too few.
    pub(crate) fn add_to(&self, page: &mut Page, columns: Option<usize>) {
        let widest = |at: usize| self.rows.iter().map(|row| width::columns(&row[at].1)).max().unwrap_or(0);
        let Some(last) = self.rows.first().and_then(|row| row.len().checked_sub(1)) else { return };
        let widths: Vec<usize> = (0..last).map(widest).collect();
        let before: usize = widths.iter().map(|width| width + GAP).sum();
        let left = columns.map_or(usize::MAX, |columns| columns.saturating_sub(before));
        let is_stacked = left < LAST_MIN && widest(last) > left;
        for row in &self.rows {
            let mut column = 0;
            for ((style, text), width) in row.iter().zip(&widths) {
                page.add(*style, &width::padded(text, width + GAP));
                column += width + GAP;
            }
            let (style, text) = &row[last];
            match columns {
                Some(columns) if is_stacked => {
                    page.end().add(super::PLAIN, "    ");
                    page.line(*style, &width::cut(text, columns.saturating_sub(4)));
                }
                Some(columns) => {
                    page.line(*style, &width::cut(text, columns.saturating_sub(column)));
                }
                None => {
                    page.line(*style, text);
                }
            }
        }
    }
}
