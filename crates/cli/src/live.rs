//! `lanai live` and `kpt live`: applying is the work of other programs.

use clap::Args;

use crate::failure::{Code, Failure};
use crate::io::{Exit, Io};

#[derive(Debug, Args)]
pub(crate) struct Live {
    /// What would be typed behind "kpt live"
    #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<String>,
}

/// Says who applies packages, and how.
pub(crate) fn run(live: &Live, _: &mut Io<'_>) -> Result<Exit, Failure> {
    let folder = live.arguments.iter().skip(1).find(|argument| !argument.starts_with('-'));
    let folder = folder.map_or(".", String::as_str);
    let instead = match live.arguments.first().map(String::as_str) {
        Some("destroy") => format!("kubectl delete --recursive -f {folder}"),
        Some("status") => format!("kubectl get --recursive -f {folder}"),
        Some("init") => {
            "nothing: kubectl, Argo CD and Flux keep their own records of what they applied".into()
        }
        _ => format!("kubectl apply --server-side --recursive -f {folder}"),
    };
    let text = "packages are not applied to clusters here: that is the work of kubectl, Argo CD or Flux, which take the files of a package as they are";
    Err(Failure::of(Code::Applying, text)
    .hint(format!(
        "with kubectl: {instead}\n\
         hint: with Argo CD: argocd app create NAME --repo URL --path FOLDER --revision TAG --dest-server SERVER --dest-namespace NAMESPACE\n\
         hint: with Flux: flux create source git NAME --url URL --tag TAG, then flux create kustomization NAME --source GitRepository/NAME --path FOLDER"
    )))
}
