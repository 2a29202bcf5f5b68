//! Short pieces of work that together come to every write boundary. Each needs nothing of the others.

use std::{fmt, str::FromStr};

use anyhow::Context;
use azolla_control_plane::operator::{Changes, Client};
use azolla_protocol::{AzollaId, BlockerKind};

use super::{
    desk::Desk,
    mood::{Answer, PeersMood},
    name,
    peers::OTHER,
    trap::Point,
};

/// Names the scenes, each once.
macro_rules! scenes {
    ($($(#[$doc:meta])* $scene:ident = $text:literal,)+) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub(super) enum Scene { $($(#[$doc])* $scene,)+ }

        impl Scene {
            /// All of them. A boundary is walked in the first scene here that comes to it every time.
            pub(super) const ALL: &'static [Self] = &[$(Self::$scene,)+];
        }

        impl fmt::Display for Scene {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self { $(Self::$scene => $text,)+ })
            }
        }
    };
}

scenes! {
    /// Orientation, asked for twice: once after a triage, once after an orientation.
    Manifest = "manifest",
    /// A worker takes so long that its claim is renewed.
    Late = "late",
    /// A check takes so long that the gate's claim is renewed.
    Checks = "checks",
    /// Other azollas take so long to answer that the claim is renewed.
    LatePeers = "late-peers",
    /// The process is asked to end while other azollas are asked.
    Stop = "stop",
    /// The repository is away when the base is looked for.
    BaseAway = "base-away",
    /// The repository is away when an answer is to be taken.
    TakeAway = "take-away",
    /// The repository is away when the gate rebuilds.
    RebuildAway = "rebuild-away",
    /// The provider asks for time.
    Wait = "wait",
    /// A patch passes and is confirmed.
    Pass = "pass",
    /// Two answers are of no use; the operator tries again, and rejects what comes then.
    Fail = "fail",
    /// A check finds something wrong with a patch.
    Spoilt = "spoilt",
    /// A worker edits files.
    Files = "files",
    /// A run is cancelled while a worker works.
    Cancel = "cancel",
    /// An approval is withdrawn before it is scheduled.
    Withdrawn = "withdrawn",
    /// A client reports what is in the way.
    Reported = "reported",
    /// The operator's steps that nothing follows from.
    Steps = "steps",
    /// Notes become candidates, and each of those is dealt with.
    Triage = "triage",
    /// Two triages of a note are of no use; another one is dealt with by hand.
    Held = "held",
    /// Orientation, when nobody answers.
    Nobody = "nobody",
    /// Orientation that nobody asked for.
    Period = "period",
    /// An objective elsewhere is overdue; the operator puts it off.
    Deadline = "deadline",
}

impl FromStr for Scene {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let found = Self::ALL.iter().find(|scene| scene.to_string() == text);
        found.copied().with_context(|| format!("{text} is no scene"))
    }
}

impl Scene {
    /// Tells whether it comes to a boundary every time. Elsewhere than in the scenes that wait for one, a renewal is there
    /// only if the machine is slow.
    pub(super) fn is_sure_of(self, point: &Point) -> bool {
        !name::is_renewal(point.name()) || matches!(self, Self::Late | Self::Checks | Self::LatePeers)
    }

    /// Plays it once. Whatever is left at its end, somebody clean can complete.
    pub(super) async fn play(self, desk: &mut Desk) -> anyhow::Result<()> {
        match self {
            Self::Late => late(desk).await,
            Self::Checks => checks(desk).await,
            Self::LatePeers => peers(desk, PeersMood::Late).await,
            Self::Stop => stop(desk).await,
            Self::BaseAway => away(desk, "base").await,
            Self::TakeAway => away(desk, "take").await,
            Self::RebuildAway => away(desk, "rebuild").await,
            Self::Wait => wait(desk).await,
            Self::Pass => pass(desk).await,
            Self::Fail => fail(desk).await,
            Self::Spoilt => spoilt(desk).await,
            Self::Files => files(desk).await,
            Self::Cancel => cancel(desk).await,
            Self::Withdrawn => withdrawn(desk).await,
            Self::Reported => reported(desk).await,
            Self::Steps => steps(desk).await,
            Self::Triage => triage(desk).await,
            Self::Held => held(desk).await,
            Self::Manifest => manifest(desk).await,
            Self::Nobody => peers(desk, PeersMood::Away).await,
            Self::Period => period(desk).await,
            Self::Deadline => deadline(desk).await,
        }
    }
}

async fn late(desk: &mut Desk) -> anyhow::Result<()> {
    desk.mood.answer([Answer::Late]);
    desk.approved().await?;
    desk.patch().await
}

async fn checks(desk: &mut Desk) -> anyhow::Result<()> {
    desk.add_check(&["true"]);
    desk.mood.make_checks_long();
    desk.approved().await?;
    desk.patch().await
}

async fn peers(desk: &mut Desk, peers: PeersMood) -> anyhow::Result<()> {
    desk.mood.peers_are(peers);
    desk.request_manifest().await?;
    desk.organise().await
}

async fn stop(desk: &mut Desk) -> anyhow::Result<()> {
    desk.mood.peers_are(PeersMood::Never);
    desk.request_manifest().await?;
    desk.organise_and_stop().await
}

async fn away(desk: &mut Desk, call: &'static str) -> anyhow::Result<()> {
    desk.mood.away(call);
    desk.approved().await?;
    desk.patch().await
}

async fn wait(desk: &mut Desk) -> anyhow::Result<()> {
    desk.mood.answer([Answer::Wait]);
    desk.approved().await?;
    desk.patch().await
}

async fn pass(desk: &mut Desk) -> anyhow::Result<()> {
    let id = desk.created().await?;
    let changes = Changes { urgency: Some(2), ..Changes::default() };
    desk.operator().edit(&id, changes).await?;
    desk.operator().approve(&id).await?;
    desk.patch().await?;
    desk.operator().confirm(&id, None).await?;
    Ok(())
}

async fn fail(desk: &mut Desk) -> anyhow::Result<()> {
    desk.mood.answer([Answer::Garbage, Answer::Garbage]);
    let id = desk.approved().await?;
    desk.patch().await?;
    desk.operator().retry(&id, Some(60_000)).await?;
    desk.patch().await?;
    desk.operator().reject(&id, None, "not yet").await?;
    desk.patch().await
}

async fn spoilt(desk: &mut Desk) -> anyhow::Result<()> {
    // What is there before the patch, and not after it.
    desk.add_check(&["grep", "-q", "trunc", "src/lib.rs"]);
    desk.approved().await?;
    desk.patch().await
}

async fn files(desk: &mut Desk) -> anyhow::Result<()> {
    desk.mood.edit_files();
    desk.approved().await?;
    desk.patch().await
}

async fn cancel(desk: &mut Desk) -> anyhow::Result<()> {
    desk.mood.answer([Answer::Never]);
    let id = desk.approved().await?;
    desk.patch_and_cancel(&id).await
}

async fn withdrawn(desk: &mut Desk) -> anyhow::Result<()> {
    let id = desk.approved().await?;
    desk.look_for_tickets().await?;
    desk.operator().withdraw(&id).await?;
    desk.patch().await
}

async fn reported(desk: &mut Desk) -> anyhow::Result<()> {
    let id = desk.approved().await?;
    let client = Client::of(desk.operator());
    client.report_blocker(&id, "the server is down", BlockerKind::EnvironmentAccess).await?;
    desk.patch().await?;
    desk.operator().unblock(&id, None).await?;
    desk.patch().await
}

async fn steps(desk: &mut Desk) -> anyhow::Result<()> {
    let id = desk.approved().await?;
    let operator = desk.operator();
    operator.block(&id, "for now", BlockerKind::UserInput).await?;
    operator.unblock(&id, None).await?;
    operator.archive(&id).await?;
    operator.unarchive(&id).await?;
    operator.withdraw(&id).await?;
    Ok(())
}

async fn triage(desk: &mut Desk) -> anyhow::Result<()> {
    let mut notes = Vec::new();
    for text in ["one", "two", "three"] {
        notes.push(desk.captured(text).await?);
    }
    notes.push(desk.captured_by_client("four").await?);
    desk.organise().await?;
    let mut candidates = Vec::new();
    for note in &notes {
        candidates.push(desk.candidate_of(note).await?);
    }
    let [a, b, c, d] = &candidates[..] else { anyhow::bail!("{} candidates", candidates.len()) };
    desk.promoted(a).await?;
    desk.tasks().undo(a, &[desk.operator()]).await?;
    let id = desk.promoted(a).await?;
    desk.tasks().discard(b).await?;
    desk.tasks().defer(c).await?;
    desk.tasks().duplicate(c, &id, desk.patches().read()).await?;
    desk.tasks().discard(d).await?;
    Ok(())
}

async fn held(desk: &mut Desk) -> anyhow::Result<()> {
    desk.mood.answer([Answer::Garbage, Answer::Garbage]);
    let id = desk.captured("mumble").await?;
    desk.organise().await?;
    desk.tasks().retry_capture(&id).await?;
    let known = desk.captured("known").await?;
    desk.tasks().process_capture(&known, "it is known").await?;
    desk.tasks().retry_capture(&known).await?;
    desk.organise().await
}

async fn manifest(desk: &mut Desk) -> anyhow::Result<()> {
    // What the last pause_state was about is part of the commit.
    desk.captured("note").await?;
    desk.organise().await?;
    desk.request_manifest().await?;
    desk.organise().await?;
    desk.request_manifest().await?;
    desk.organise().await
}

async fn period(desk: &mut Desk) -> anyhow::Result<()> {
    desk.make_orientation_due().await?;
    desk.organise().await
}

async fn deadline(desk: &mut Desk) -> anyhow::Result<()> {
    const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
    let id = desk.fresh();
    desk.mood.peers_are(PeersMood::Overdue(id.to_string()));
    desk.organise().await?;
    let (other, until) = (AzollaId::new(OTHER)?, desk.now().await?.plus_ms(DAY_MS));
    desk.tasks().snooze(&other, &id, until).await?;
    Ok(())
}
