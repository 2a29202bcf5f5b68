//! A process that works with a trap at one write boundary, or a rival of it: see `azolla_testkit::points`.

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    azolla_testkit::points::run(&arguments).await
}
