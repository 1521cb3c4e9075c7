//! Credentials and settings from the environment, by the names that other programs use too.

use std::fmt;

use crate::error::{StoreError, StoreErrorKind};

/// The key that requests are signed with, or the way to get one.
#[derive(Clone)]
pub enum Credentials {
    /// An access key.
    Key {
        /// `AWS_ACCESS_KEY_ID`.
        id: String,
        /// `AWS_SECRET_ACCESS_KEY`.
        secret: String,
        /// `AWS_SESSION_TOKEN`, of temporary credentials.
        token: Option<String>,
    },
    /// A role that the token in a file stands for, as in Kubernetes.
    WebIdentity {
        /// `AWS_WEB_IDENTITY_TOKEN_FILE`.
        token_file: String,
        /// `AWS_ROLE_ARN`.
        role: String,
        /// `AWS_ROLE_SESSION_NAME`.
        session: Option<String>,
    },
    /// Requests are not signed: the bucket is public (`AWS_SKIP_SIGNATURE=true`).
    None,
}

/// The settings of the environment.
#[derive(Clone, Debug)]
pub struct Environment {
    /// The key that requests are signed with, or the way to get one.
    pub credentials: Credentials,
    /// `AWS_ENDPOINT_URL_S3`, else `AWS_ENDPOINT_URL`.
    pub endpoint: Option<String>,
    /// `AWS_REGION`, else `AWS_DEFAULT_REGION`.
    pub region: Option<String>,
    /// Whether the endpoint may be plain http on another machine: `AWS_ALLOW_HTTP=true`.
    pub allow_http: bool,
}

impl Environment {
    /// The variables that hold secrets.
    pub const SECRET_VARIABLES: [&str; 2] = ["AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"];

    /// Reads the settings; `variable` looks a variable up, whose name begins with `prefix`. Never asks the
    /// metadata service of a cloud.
    ///
    /// # Errors
    /// When there are no credentials; the message says which variables are missing.
    pub fn read(
        prefix: &str,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, StoreError> {
        let variable =
            |name: &str| variable(&format!("{prefix}{name}")).filter(|value| !value.is_empty());
        let is_set = |name: &str| {
            variable(name).is_some_and(|value| matches!(value.as_str(), "true" | "TRUE" | "1"))
        };
        Ok(Self {
            credentials: credentials(prefix, &variable, is_set("AWS_SKIP_SIGNATURE"))?,
            endpoint: variable("AWS_ENDPOINT_URL_S3").or_else(|| variable("AWS_ENDPOINT_URL")),
            region: variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION")),
            allow_http: is_set("AWS_ALLOW_HTTP"),
        })
    }
}

fn credentials(
    prefix: &str,
    variable: &impl Fn(&str) -> Option<String>,
    skips_signature: bool,
) -> Result<Credentials, StoreError> {
    let refused = |message: &str| {
        let message = message.replace("AWS_", &format!("{prefix}AWS_"));
        Err(StoreError::new(StoreErrorKind::Refused, message))
    };
    let key = (
        variable("AWS_ACCESS_KEY_ID"),
        variable("AWS_SECRET_ACCESS_KEY"),
    );
    match key {
        (Some(id), Some(secret)) => {
            return Ok(Credentials::Key {
                id,
                secret,
                token: variable("AWS_SESSION_TOKEN"),
            });
        }
        (Some(_), None) => {
            return refused(
                "AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not: set both for the archive's store",
            );
        }
        (None, Some(_)) => {
            return refused(
                "AWS_SECRET_ACCESS_KEY is set, but AWS_ACCESS_KEY_ID is not: set both for the archive's store",
            );
        }
        (None, None) => {}
    }
    let file = variable("AWS_WEB_IDENTITY_TOKEN_FILE");
    if let (Some(token_file), Some(role)) = (file, variable("AWS_ROLE_ARN")) {
        return Ok(Credentials::WebIdentity {
            token_file,
            role,
            session: variable("AWS_ROLE_SESSION_NAME"),
        });
    }
    if skips_signature {
        return Ok(Credentials::None);
    }
    refused(
        "there are no credentials for the archive's store: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY \
         (AWS_SKIP_SIGNATURE=true reads a public bucket without them)",
    )
}

/// No secret gets into a log by its debugging form.
impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Key { .. } => "Key",
            Self::WebIdentity { .. } => "WebIdentity",
            Self::None => "None",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Environment, StoreError> {
        Environment::read("", |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn keys_come_first() {
        let read = read(&[
            ("AWS_ACCESS_KEY_ID", "id"),
            ("AWS_SECRET_ACCESS_KEY", "very-secret"),
            ("AWS_WEB_IDENTITY_TOKEN_FILE", "/token"),
            ("AWS_ROLE_ARN", "arn"),
            ("AWS_ENDPOINT_URL", "http://other"),
            ("AWS_ENDPOINT_URL_S3", "http://this"),
            ("AWS_DEFAULT_REGION", "there"),
        ])
        .expect("there");
        assert!(matches!(
            &read.credentials,
            Credentials::Key { id, token: None, .. } if id == "id"
        ));
        assert_eq!(read.endpoint.as_deref(), Some("http://this"));
        assert_eq!(read.region.as_deref(), Some("there"));
        assert!(!read.allow_http);
        assert!(!format!("{read:?}").contains("very-secret"));
    }

    #[test]
    fn each_place_may_have_variables_of_its_own() {
        let variables = |name: &str| name.starts_with("B_").then(|| format!("value of {name}"));
        let read = Environment::read("B_", variables).expect("there");
        assert!(matches!(
            &read.credentials,
            Credentials::Key { id, .. } if id == "value of B_AWS_ACCESS_KEY_ID"
        ));
        assert_eq!(read.region.as_deref(), Some("value of B_AWS_REGION"));
        let error = Environment::read("C_", variables).expect_err("none");
        let error = error.to_string();
        assert!(
            error.contains("set C_AWS_ACCESS_KEY_ID and C_AWS_SECRET"),
            "{error}"
        );
    }

    #[test]
    fn without_credentials_there_is_an_error_and_no_request() {
        for variables in [
            &[][..],
            &[("AWS_ACCESS_KEY_ID", "id")],
            &[("AWS_SECRET_ACCESS_KEY", "secret")],
            &[("AWS_ACCESS_KEY_ID", ""), ("AWS_SECRET_ACCESS_KEY", "")],
            &[("AWS_ROLE_ARN", "arn")],
            &[("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "/x")],
            &[("AWS_SKIP_SIGNATURE", "false")],
        ] {
            let error = read(variables).expect_err("no credentials");
            assert_eq!(error.kind(), StoreErrorKind::Refused, "{variables:?}");
            assert!(error.to_string().contains("AWS_ACCESS_KEY_ID"), "{error}");
        }
        let public = read(&[("AWS_SKIP_SIGNATURE", "true")]).expect("public");
        assert!(matches!(public.credentials, Credentials::None));
    }
}
