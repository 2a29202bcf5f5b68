//! What requests cost: set aside before each, settled after it, and added up (B-3).

use azolla_protocol::{Allowance, Reservation, Spending, Usage, Withheld};

use crate::provider::InvalidSettings;

/// Prices of a model, in millionths of a US dollar for a million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Prices {
    pub(crate) input: u64,
    pub(crate) output: u64,
}

impl Prices {
    /// Takes both prices or none.
    pub(crate) fn of(
        name: &str,
        input: Option<u64>,
        output: Option<u64>,
    ) -> Result<Option<Self>, InvalidSettings> {
        match (input, output) {
            (Some(input), Some(output)) => Ok(Some(Self { input, output })),
            (None, None) => Ok(None),
            _ => {
                let what = "a price for tokens sent needs one for tokens received, and the other way round";
                Err(InvalidSettings { name: name.to_owned(), what: what.to_owned() })
            }
        }
    }

    /// Returns what tokens cost, rounded up.
    fn cost(self, tokens: Tokens) -> u64 {
        let part = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
        let whole = part(tokens.input, self.input) + part(tokens.output, self.output);
        u64::try_from(whole.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

/// Tokens of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tokens {
    pub(crate) input: u64,
    pub(crate) output: u64,
}

impl Tokens {
    fn spending(self, prices: Option<Prices>) -> Spending {
        Spending {
            tokens: self.input.saturating_add(self.output),
            cost_microusd: prices.map(|prices| prices.cost(self)),
        }
    }
}

/// Returns about how many tokens a text has, where nobody tells.
pub(crate) fn estimated(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4)
}

/// Returns more tokens than a text usually has: what is set aside must be enough for code and for any language.
pub(super) fn at_most(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(3)
}

/// The spending of one run. A request that is dropped in the middle is settled with what is known of it by then.
pub(crate) struct Account<'a> {
    allowance: &'a dyn Allowance,
    prices: Option<Prices>,
    open: Option<(Reservation, Tokens)>,
    usage: Usage,
}

impl<'a> Account<'a> {
    pub(super) fn new(allowance: &'a dyn Allowance, prices: Option<Prices>, model: &str) -> Self {
        let usage =
            Usage { model: Some(model.to_owned()), cost_microusd: prices.map(|_| 0), ..Usage::default() };
        Self { allowance, prices, open: None, usage }
    }

    /// Sets aside the most that a request can cost, and counts it.
    pub(super) fn open(&mut self, most: Tokens) -> Result<(), Withheld> {
        self.close();
        let reservation = self.allowance.reserve(most.spending(self.prices))?;
        self.open = Some((reservation, Tokens::default()));
        self.usage.requests += 1;
        self.allowance.counted(&self.usage);
        Ok(())
    }

    /// Notes what the open request has cost up to now.
    pub(super) fn note(&mut self, tokens: Tokens) {
        if let Some((_, noted)) = &mut self.open {
            *noted = tokens;
        }
    }

    /// Settles the open request.
    pub(super) fn close(&mut self) {
        let Some((reservation, tokens)) = self.open.take() else { return };
        let spent = tokens.spending(self.prices);
        self.usage.input_tokens = self.usage.input_tokens.saturating_add(tokens.input);
        self.usage.output_tokens = self.usage.output_tokens.saturating_add(tokens.output);
        self.usage.cost_microusd =
            self.usage.cost_microusd.map(|cost| cost.saturating_add(spent.cost_microusd.unwrap_or(0)));
        self.allowance.settle(reservation, spent);
        self.allowance.counted(&self.usage);
    }

    /// Counts a retry.
    pub(super) fn retry(&mut self) {
        self.usage.retries += 1;
        self.allowance.counted(&self.usage);
    }

    /// Returns what was counted.
    pub(super) fn usage(&self) -> &Usage {
        &self.usage
    }
}

impl Drop for Account<'_> {
    fn drop(&mut self) {
        self.close();
    }
}
