//! `urldb init` with a service: what is written, and that it is what the example has.

use std::fs;
use std::path::Path;

use insta::{Settings, assert_snapshot};

use crate::hook::Repository;
use crate::sandbox::{Sandbox, assert_has, assert_lacks};
use crate::site::{FILE, Site, promises};

/// A copy of urldb's action.
pub(crate) const ACTION: &str = "ada/urldb@0123456789abcdef0123456789abcdef01234567";

const ALL: [&str; 8] = [
    "init",
    "--github",
    "--action",
    ACTION,
    "--gitlab",
    "--cron",
    "--systemd",
    "--pre-commit",
];

const WORKFLOW: &str = ".github/workflows/urldb.yml";

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
    sandbox.ok("lint");
}

#[test]
fn nothing_is_overwritten() {
    let repository = with_remote(Sandbox::empty(), "https://gitlab.com/ada/sky-urls");
    repository.write(".gitlab-ci.yml", "mine: 1\n");
    repository.write(".github/workflows/urldb.yml", "mine: 2\n");
    repository.ok(&ALL).says(&[
        "kept .gitlab-ci.yml: it exists",
        "kept .github/workflows/urldb.yml: it exists",
        "wrote urldb.cron",
    ]);
    repository.assert_file(".gitlab-ci.yml", "mine: 1\n");
    let first = repository.tree("");
    repository.ok(&ALL).says("kept urldb.cron: it exists");
    assert_eq!(repository.tree(""), first);
}

/// A project below the top of its repository, in a folder with special characters, with secrets and paths of
/// its own.
#[test]
fn an_existing_project_is_followed() {
    let repository = Repository::of(Sandbox::empty());
    let folder = "a 100% 'b' $x";
    let config = "[project]\nname = \"The $HOME's 100% sky\"\n[database]\npath = \"data\"\n\
         [archive]\npath = \"warc\"\nstores = [\"s3://evidence/sky\"]\n[ledger]\npath = \"my state\"\n\
         [notify.page]\ntype = \"html\"\npath = \"public/x\"\n\
         [notify.mail]\ntype = \"email\"\nfrom = \"a@example.org\"\nto = [\"b@example.org\"]\n\
         server = \"smtp.example.org\"\nuser = \"a\"\npassword-env = \"SMTP_PASSWORD\"\n";
    repository.write(&format!("{folder}/urldb.toml"), config);
    repository.write(&format!("{folder}/my state/history/2026-01.jsonl"), "");
    repository.git("add .");
    let ran = repository.urldb_with_env(
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
    let files = written.map(|name| format!("=== {name}\n{}", repository.read(&name)));
    stable(&repository)
        .bind(|| assert_snapshot!("existing-project", format!("{out}{}", files.concat())));
}

#[test]
fn a_variable_that_no_service_can_set_is_refused_before_a_file_is_written() {
    let sandbox = Sandbox::new("[check]\nheaders-env = { X-A = \"A B; touch x\" }\n");
    sandbox
        .exits(2, &["init", "--github", "--action", ACTION, "--systemd"])
        .complains("urldb.toml names the variable \"A B; touch x\"");
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
    // A place for the reader's own copy.
    let action = ACTION.replace("ada/", "OWNER/");
    let init = ["-C", "repository", "init", "--github", "--action", &action];
    sandbox.ok(&[&init[..], &["--pre-commit"]].concat());
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

/// A name that nobody owns yet would run the code of whoever takes it, and a linter that is silenced would not say so.
#[test]
fn no_workflow_names_an_action_that_nobody_owns() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for file in [
        ".github/workflows/urldb.yml",
        "examples/repository/.github/workflows/urldb.yml",
        "examples/repository/.github/workflows/urldb-pull-request.yml",
        "examples/github/urldb-shards.yml",
    ] {
        let workflow = fs::read_to_string(root.join(file)).unwrap();
        assert_lacks(&workflow, &["urldb/urldb@", "zizmor:"]);
    }
    // The action of the same commit.
    let workflow = fs::read_to_string(root.join(".github/workflows/urldb.yml")).unwrap();
    assert_eq!(workflow.matches("uses: $/\n").count(), 2);
}

/// Until there is a release, `--github` needs a copy of the action, says why, and writes nothing before.
#[test]
fn the_action_is_named_by_the_user() {
    let sandbox = Sandbox::empty();
    let before = sandbox.tree("");
    for arguments in [
        "init --github",
        "init --github --gitlab",
        "init --github --cron",
    ] {
        sandbox.exits(2, arguments).complains_in_words(&[
            "urldb/urldb@v0.1.0 is not released",
            "Whoever takes that name could write to your repository",
            "--action OWNER/REPO@COMMIT",
        ]);
        assert_eq!(sandbox.tree(""), before, "{arguments}");
    }
    for (arguments, said) in [
        (
            "init --github --action OWNER/urldb@COMMIT",
            "OWNER/REPO@REF",
        ),
        ("-C nosuch lint", "-C nosuch: there is no such folder"),
    ] {
        sandbox.exits(2, arguments).complains(said);
    }
}

/// The rights of the workflow are those that urldb.toml has use for.
#[test]
fn a_workflow_has_the_rights_that_the_project_needs() {
    let issues = "[notify.i]\ntype = \"issues\"\nrepository = \"ada/sky-urls\"\n";
    let on_github = format!("{issues}service = \"github\"\n");
    let site = "[notify.page]\ntype = \"html\"\npath = \"site\"\n";
    let chat = "[notify.chat]\ntype = \"command\"\ncommand = [\"true\"]\n";
    let own = format!("{on_github}token-env = \"GITHUB_TOKEN\"\n");
    let other = format!("{on_github}token-env = \"PERSONAL_TOKEN\"\n");
    let elsewhere = format!("{issues}service = \"gitlab\"\ntoken-env = \"GITLAB_TOKEN\"\n");
    for (config, opens_issues, has_site) in [
        (chat.to_owned(), false, false),
        (own.clone(), true, false),
        (other, false, false),
        (elsewhere, false, false),
        (format!("{chat}{site}"), false, true),
        (format!("{own}{site}"), true, true),
    ] {
        let repository = Repository::of(Sandbox::empty());
        repository.write("urldb.toml", &config);
        repository.ok(&["init", "--github", "--action", ACTION]);
        let workflow = repository.read(".github/workflows/urldb.yml");
        let has = |text: &str| workflow.contains(text);
        assert_eq!(has("issues: write"), opens_issues, "{config}\n{workflow}");
        assert_eq!(has("GITHUB_TOKEN"), opens_issues, "{config}\n{workflow}");
        for part in [
            "pages: write",
            "id-token: write",
            "publish:",
            "outputs:",
            "deploy-pages",
        ] {
            assert_eq!(has(part), has_site, "{part}: {config}\n{workflow}");
        }
        assert_has(
            &workflow,
            "contents: write # pushes the ledger to the branch urldb-status\n",
        );
    }
    let repository = Repository::of(Sandbox::empty());
    repository.write("status/history/2026-01.jsonl", "");
    repository.git("add .");
    repository.ok(&["init", "--github", "--action", ACTION]);
    let workflow = repository.read(".github/workflows/urldb.yml");
    assert_has(
        &workflow,
        &[
            "to the branch that is checked out\n",
            "state-branch: \"\"\n",
        ],
    );
}

const ORIGIN: &str = "git@github.com:ada/sky-urls.git";

/// In whatever order people set up a project, it ends with somebody who is told, and nothing is there twice.
#[test]
fn somebody_is_told_in_the_end() {
    let add_remote = |repository: &Repository, remote: &str| {
        repository.git(&["remote", "add", "origin", remote]);
    };
    let on_github =
        "service = \"github\"\nrepository = \"ada/sky-urls\"\ntoken-env = \"GITHUB_TOKEN\"\n";
    let on_gitlab =
        "service = \"gitlab\"\nrepository = \"sky/north/urls\"\ntoken-env = \"GITLAB_TOKEN\"\n";
    let on_own_gitlab = "service = \"gitlab\"\nrepository = \"sky/urls\"\n\
         api-url = \"https://git.example.org/api/v4\"\ntoken-env = \"GITLAB_TOKEN\"\n";
    for (option, remote, issues) in [
        ("--github", ORIGIN, on_github),
        ("--gitlab", "https://gitlab.com/sky/north/urls", on_gitlab),
        (
            "--gitlab",
            "git@git.example.org:sky/urls.git",
            on_own_gitlab,
        ),
    ] {
        for order in [
            "init, remote, option",
            "option, remote, option",
            "remote, init, option",
            "remote, option",
        ] {
            let repository = Repository::of(Sandbox::empty());
            fs::remove_file(repository.path("urldb.toml")).ok();
            let mut arguments = vec!["init", option];
            if option == "--github" {
                arguments.extend(["--action", ACTION]);
            }
            let mut before = String::new();
            for step in order.split(", ") {
                match step {
                    "remote" => {
                        add_remote(&repository, remote);
                        // As the note of the first `init` says.
                        fs::remove_file(repository.path(WORKFLOW)).ok();
                    }
                    "init" => drop(repository.ok("init")),
                    _ => drop(repository.ok(&arguments)),
                }
                let after = fs::read_to_string(repository.path("urldb.toml")).unwrap_or_default();
                assert!(
                    after.starts_with(&before),
                    "{order}: {before}\nbecame\n{after}"
                );
                before = after;
            }
            let page = "\n[notify.page]\ntype = \"html\"\npath = \"site\"\n";
            for part in [
                page,
                &format!("\n[notify.issues]\ntype = \"issues\"\n{issues}"),
            ] {
                assert_eq!(before.matches(part).count(), 1, "{order}: {part}\n{before}");
            }
            if option == "--github" {
                let workflow = repository.read(WORKFLOW);
                for line in [
                    "site: pages\n",
                    "GITHUB_TOKEN: ${{ github.token }}\n",
                    "issues: write",
                ] {
                    assert!(workflow.contains(line), "{order}: {workflow}");
                }
            }
            let tree = repository.tree("");
            let again = repository.ok(&arguments);
            assert!(!again.out.contains("added to"), "{order}: {}", again.out);
            assert_eq!(repository.tree(""), tree, "{order}");
        }
    }
}

/// What is added is shown, and stands behind everything else, in the form of the file.
#[test]
fn lines_are_added_behind_everything_else() {
    for (before, wanted) in [
        ("# mine", "# mine\n\n# The status site"),
        (
            "# mine\r\n[check] # x\r\n",
            "# mine\r\n[check] # x\r\n\r\n# The status site",
        ),
        (
            "[notify.issues]\ntype = \"html\"\npath = \"a\"\n",
            "\"a\"\n\n# An issue for each incident.\n[notify.issues-2]\n",
        ),
        (
            "notify.a.type = 'html'\nnotify.a.path = 'b'\n",
            "= 'b'\n\n# An issue for each incident.\n[notify.issues]\n",
        ),
    ] {
        let repository = with_remote(Sandbox::empty(), ORIGIN);
        repository.write("urldb.toml", before);
        repository
            .ok(&["init", "--github", "--action", ACTION])
            .says(&[
                "added to urldb.toml:\n    # ",
                "\n    repository = \"ada/sky-urls\"\n",
            ]);
        let after = repository.read("urldb.toml");
        assert!(
            after.starts_with(before) && after.contains(wanted),
            "{after:?}"
        );
        assert_eq!(
            after.matches('\r').count() > 0,
            before.contains('\r'),
            "{after:?}"
        );
        repository.ok("lint");
    }
    // No section can follow this form.
    let repository = with_remote(Sandbox::empty(), ORIGIN);
    let inline = "notify = { a = { type = \"html\", path = \"b\" } }\n";
    repository.write("urldb.toml", inline);
    repository
        .exits(2, &["init", "--github", "--action", ACTION])
        .complains(&["add these settings yourself", "[notify.issues]"]);
    repository.assert_file("urldb.toml", &inline);
}

/// A project that tells people already gets no notifier, and its steps speak of no site.
#[test]
fn a_project_that_tells_people_is_left_alone() {
    let repository = with_remote(Sandbox::empty(), ORIGIN);
    let config = "[notify.chat]\ntype = \"command\"\ncommand = [\"true\"]\n";
    repository.write("urldb.toml", config);
    let ran = repository.ok(&["init", "--github", "--action", ACTION, "--gitlab"]);
    repository.assert_file("urldb.toml", &config);
    assert_has(&ran.out, "3. on GitHub: start the workflow URLs\n");
    let workflow = repository.read(".github/workflows/urldb.yml");
    assert!(
        workflow.contains("site: \"none\"") && !workflow.contains("GITHUB_TOKEN"),
        "{workflow}"
    );
    let pipeline = repository.read(".gitlab-ci.yml");
    assert_lacks(&pipeline, &["pages:", "site"]);
}

/// The output says so where nobody is told still, and why.
#[test]
fn somebody_who_is_missing_is_named() {
    let without_remote = Repository::of(Sandbox::empty());
    let elsewhere = with_remote(Sandbox::empty(), "https://codeberg.org/ada/sky-urls");
    for (repository, reason) in [
        (
            without_remote,
            format!(
                "once the repository on GitHub is the remote origin, this adds an issue for each incident:\n      \
                 rm {WORKFLOW} && urldb init --github --action {ACTION}\n"
            ),
        ),
        (
            elsewhere,
            "https://codeberg.org/ada/sky-urls is no repository on GitHub".to_owned(),
        ),
    ] {
        let note = format!("note: nobody is told about broken promises yet: {reason}");
        let init = ["init", "--github", "--action", ACTION];
        repository.ok(&init).says(&[&note]);
    }
}

#[test]
fn another_copy_of_the_action_can_be_named() {
    for (name, line) in [
        (ACTION, format!("uses: {ACTION}\n")),
        (
            "ada/tools/urldb@v2",
            "uses: ada/tools/urldb@v2\n".to_owned(),
        ),
    ] {
        let repository = with_remote(Sandbox::empty(), ORIGIN);
        let sandbox = &repository.sandbox;
        let ran = sandbox.ok(&["init", "--github", "--action", name]);
        assert_lacks(&ran.out, "note:");
        for file in ["urldb.yml", "urldb-pull-request.yml"] {
            let workflow = sandbox.read(&format!(".github/workflows/{file}"));
            assert_has(&workflow, &line);
        }
    }
    let sandbox = Sandbox::empty();
    for name in [
        "urldb",
        "ada/urldb",
        "urldb@v1",
        "ada/urldb@",
        "ada/../x@v1",
        "a b/c@v1",
        "a/b@v1 # x",
        "/b@v1",
        "a/b@x@y",
    ] {
        sandbox
            .exits(2, &["init", "--github", "--action", name])
            .complains("OWNER/REPO@REF");
    }
    sandbox.exits(2, &["init", "--action", ACTION]);
}

/// `init` says of a version that is not released that its names lead nowhere, as long as the docs say so.
#[test]
fn the_output_and_the_docs_agree_about_releases() {
    let repository = with_remote(Sandbox::empty(), ORIGIN);
    let mut out = repository.urldb("init --github").err;
    out += &repository.ok("init --gitlab --pre-commit").out;
    let unreleased = [
        "urldb/urldb@v0.1.0 is not released",
        "this pipeline cannot run yet",
        "Until then:\n      urldb hook install\n",
    ];
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for page in [
        "README.md",
        "docs/github-actions.md",
        "docs/installation.md",
    ] {
        let page = fs::read_to_string(root.join(page)).unwrap();
        let says_so = page.contains("No version has been released yet");
        for text in unreleased {
            assert_eq!(out.contains(text), says_so, "{text}\n{out}");
        }
    }
}

/// The command of cron and of the service checks, beside a pipeline or a workflow that keeps the ledger on a branch too: `run
/// --commit` refuses a ledger that git ignores, and the pipeline one that is committed.
#[test]
fn cron_and_systemd_run_beside_a_pipeline() {
    let github = ["--github", "--action", ACTION];
    let pipelines = [(&["--gitlab"][..], "--cron"), (&github, "--systemd")];
    let orders = ["pipeline, own", "own, pipeline", "both", "own"];
    for (order, (pipeline, own)) in orders.into_iter().zip(pipelines.into_iter().cycle()) {
        let site = Site::with(&[("/a", "first")]);
        let sandbox = Sandbox::new(&site.network());
        sandbox.write(FILE, promises(&[("/a", "first")]));
        let repository = Repository::of(sandbox);
        repository.git("config user.name Ada");
        repository.git("config user.email ada@example.org");
        for step in order.split(", ") {
            let options = match step {
                "pipeline" => pipeline.to_vec(),
                "own" => vec![own],
                _ => [pipeline, &[own]].concat(),
            };
            repository.ok(&[&["init"], &options[..]].concat());
        }
        repository.git("add .");
        repository.git("commit -q -m begin");
        let text = match own {
            "--cron" => repository.read("urldb.cron"),
            _ => repository
                .files("systemd", ".service")
                .iter()
                .map(|it| fs::read_to_string(it).unwrap())
                .collect(),
        };
        let commits = text.contains(" run --commit");
        let options = if commits { "run --commit" } else { "run" };
        let case = format!("{pipeline:?}, {own}, {order}: {options}");
        let ran = repository.urldb(options);
        assert_eq!(ran.code, 0, "{case}: {ran:?}");
        assert_eq!(
            repository.files("status/history", ".jsonl").len(),
            1,
            "{case}"
        );
        let status = repository.git("status --porcelain -- status urldb");
        assert!(status.is_empty(), "{case}: {status}");
        // Who comes first says where the ledger is, and the other follows.
        assert_eq!(commits, order.starts_with("own"), "{case}");
        let written = [WORKFLOW, ".gitlab-ci.yml"]
            .map(|file| fs::read_to_string(repository.path(file)).unwrap_or_default())
            .concat();
        let is_in_checkout =
            written.contains("state-branch: \"\"") || written.contains("STATE_BRANCH: ''");
        assert_eq!(
            is_in_checkout,
            order == "own, pipeline",
            "{case}: {written}"
        );
    }
}

/// A folder of written mails is output, as a site is.
#[test]
fn written_mails_are_ignored() {
    let repository = Repository::of(Sandbox::empty());
    repository.write(
        "urldb.toml",
        "[notify.mail]\ntype = \"email\"\nfrom = \"a@example.org\"\nto = [\"b@example.org\"]\nfolder = \"my/mail\"\n",
    );
    repository.ok("init");
    let ignored = repository.read(".gitignore");
    assert_has(&ignored, "\n/my/mail/\n");
}
