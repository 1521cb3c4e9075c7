//! `urldb init` with a service: what is written, and that it is what the example has.

use std::fs;
use std::path::Path;

use insta::{Settings, assert_snapshot};

use crate::hook::Repository;
use crate::sandbox::Sandbox;

const ALL: [&str; 6] = [
    "init",
    "--github",
    "--gitlab",
    "--cron",
    "--systemd",
    "--pre-commit",
];

/// A repository with a remote.
fn with_remote(sandbox: Sandbox, remote: &str) -> Repository {
    let repository = Repository::of(sandbox);
    repository.git(&["remote", "add", "origin", remote]);
    repository
}

/// Takes out what differs between machines.
fn stable(sandbox: &Sandbox) -> Settings {
    let mut settings = Settings::clone_current();
    let root = sandbox
        .root
        .parent()
        .unwrap()
        .to_str()
        .unwrap()
        .replace('.', "\\.");
    settings.add_filter(&root, "[folder]");
    settings.add_filter(r#"[^"' ]*/debug/urldb"#, "[urldb]");
    settings
}

#[test]
fn a_new_project_needs_no_setting() {
    let sandbox = Sandbox::empty();
    let repository = with_remote(sandbox, "git@github.com:ada/sky-urls.git");
    let sandbox = &repository.sandbox;
    let ran = sandbox.urldb_with_env(&ALL, &[("USER", "ada")]).code(0);
    let files = sandbox.tree("").into_iter();
    let files = files.filter(|(path, _)| !path.starts_with(".git"));
    let mut files: Vec<String> = files
        .map(|(path, content)| {
            let text = String::from_utf8(content.0).unwrap();
            format!("=== {}\n{text}", path.display())
        })
        .collect();
    for file in ["urldb.yml", "urldb-pull-request.yml"] {
        let text = sandbox.read(&format!(".github/workflows/{file}"));
        files.push(format!("=== {file}\n{text}"));
    }
    files.push(format!("=== .gitignore\n{}", sandbox.read(".gitignore")));
    let files = files.concat();
    stable(sandbox).bind(|| assert_snapshot!("new-project", format!("{}{files}", ran.out)));
    // What was written is a configuration that works.
    sandbox.urldb(&["lint"]).code(0);
}

#[test]
fn nothing_is_overwritten() {
    let repository = with_remote(Sandbox::empty(), "https://gitlab.com/ada/sky-urls");
    let sandbox = &repository.sandbox;
    sandbox.write(".gitlab-ci.yml", "mine: 1\n");
    sandbox.write(".github/workflows/urldb.yml", "mine: 2\n");
    sandbox.urldb(&ALL).code(0).says(&[
        "kept .gitlab-ci.yml: it exists",
        "kept .github/workflows/urldb.yml: it exists",
        "wrote urldb.cron",
    ]);
    assert_eq!(sandbox.read(".gitlab-ci.yml"), "mine: 1\n");
    let first = sandbox.tree("");
    sandbox
        .urldb(&ALL)
        .code(0)
        .says(&["kept urldb.cron: it exists"]);
    assert_eq!(sandbox.tree(""), first);
}

/// A project below the top of its repository, in a folder with special characters, with secrets and paths of
/// its own.
#[test]
fn an_existing_project_is_followed() {
    let repository = Repository::of(Sandbox::empty());
    let sandbox = &repository.sandbox;
    let folder = "a 100% 'b' $x";
    let config = "[project]\nname = \"The $HOME's 100% sky\"\n[database]\npath = \"data\"\n\
         [archive]\npath = \"warc\"\nstore = \"s3://evidence/sky\"\n[ledger]\npath = \"my state\"\n\
         [notify.page]\ntype = \"html\"\npath = \"public/x\"\n\
         [notify.mail]\ntype = \"email\"\nfrom = \"a@example.org\"\nto = [\"b@example.org\"]\n\
         server = \"smtp.example.org\"\nuser = \"a\"\npassword-env = \"SMTP_PASSWORD\"\n";
    sandbox.write(&format!("{folder}/urldb.toml"), config);
    sandbox.write(&format!("{folder}/my state/history/2026-01.jsonl"), "");
    repository.git(&["add", "."]);
    let ran = sandbox.urldb_with_env(
        &[&["-C", folder][..], &ALL].concat(),
        &[("LOGNAME", "$(x)")],
    );
    let out = ran.code(0).out;
    let written = [
        ".github/workflows/urldb.yml".to_owned(),
        ".github/workflows/urldb-pull-request.yml".to_owned(),
        ".gitlab-ci.yml".to_owned(),
        ".pre-commit-config.yaml".to_owned(),
        format!("{folder}/urldb.cron"),
        format!("{folder}/systemd/urldb-the--home-s-100--sky.service"),
        format!("{folder}/systemd/urldb-the--home-s-100--sky.timer"),
    ];
    let files = written.map(|name| format!("=== {name}\n{}", sandbox.read(&name)));
    stable(sandbox)
        .bind(|| assert_snapshot!("existing-project", format!("{out}{}", files.concat())));
}

#[test]
fn a_variable_that_no_service_can_set_is_refused_before_a_file_is_written() {
    let sandbox = Sandbox::new("[check]\nheaders-env = { X-A = \"A B; touch x\" }\n");
    sandbox
        .urldb(&["init", "--github", "--systemd"])
        .code(2)
        .complains(&["urldb.toml names the variable \"A B; touch x\""]);
    assert!(!sandbox.path(".github").exists() && !sandbox.path("systemd").exists());
}

/// The example is what `init` writes for it.
#[test]
fn the_example_is_current() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/repository");
    let sandbox = Sandbox::empty();
    let files = [
        "urldb.toml",
        "urldb/example.com.yaml",
        "urldb/example.org.yaml",
    ];
    for file in files {
        let text = fs::read(example.join(file)).unwrap();
        sandbox.write(&format!("repository/{file}"), text);
    }
    sandbox
        .urldb(&["-C", "repository", "init", "--github", "--pre-commit"])
        .code(0);
    for file in [
        ".github/workflows/urldb.yml",
        ".github/workflows/urldb-pull-request.yml",
        ".pre-commit-config.yaml",
        ".gitignore",
        ".gitattributes",
    ] {
        let written = sandbox.read(&format!("repository/{file}"));
        if std::env::var_os("UPDATE_EXAMPLE").is_some() {
            fs::write(example.join(file), &written).unwrap();
        }
        let shown = fs::read_to_string(example.join(file)).unwrap_or_default();
        assert_eq!(
            shown, written,
            "{file}: write it anew with UPDATE_EXAMPLE=1"
        );
    }
}

/// Files that name a release name this one.
#[test]
fn the_reusable_workflow_names_this_version() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let workflow = fs::read_to_string(root.join(".github/workflows/urldb.yml")).unwrap();
    let action = format!("uses: urldb/urldb@v{} ", env!("CARGO_PKG_VERSION"));
    assert!(workflow.contains(&action), "{action}");
}
