//! Other processes, which run this very program.

use std::process::{Child, Command, Stdio};

use super::world::World;

const FOLDER: &str = "DURABILITY_FOLDER";
const POSTGRES: &str = "DURABILITY_POSTGRES";

/// A process that runs the test of this name, which asks for its [`world`].
pub struct Process(Child);

impl Process {
    pub fn start(test: &str, world: &World, variables: &[(&str, String)]) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture"]);
        command.env(FOLDER, &world.folder).stdout(Stdio::null());
        match &world.postgres {
            Some(address) => command.env(POSTGRES, address),
            None => command.env_remove(POSTGRES),
        };
        for (name, value) in variables {
            command.env(name, value);
        }
        Process(command.spawn().unwrap())
    }

    /// Sends it a signal by its name.
    pub fn signal(&self, name: &str) {
        let pid = self.0.id().to_string();
        let sent = Command::new("kill").args([name, &pid]).status().unwrap();
        assert!(sent.success());
    }

    pub fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// Whether it ended of itself, and well.
    pub fn wait(mut self) -> bool {
        self.0.wait().unwrap().success()
    }
}

/// In a process that was started: its world.
pub fn world() -> Option<World> {
    let folder = std::env::var_os(FOLDER)?;
    Some(World {
        folder: folder.into(),
        postgres: std::env::var(POSTGRES).ok(),
    })
}

/// Whether this is a process that was started for another test.
pub fn is_other() -> bool {
    std::env::var_os(FOLDER).is_some()
}
