//! Prints the program of a seed.

fn main() {
    for seed in std::env::args().skip(1).filter_map(|a| a.parse().ok()) {
        print!(
            "{}",
            tgsi_fuzz::program_text(&tgsi_fuzz::seeded_bytes(seed, 4096))
        );
    }
}
