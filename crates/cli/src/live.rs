//! `lanai live` and `kpt live`: applying is the work of other programs.

use clap::Args;

use crate::failure::{Code, Failure};
use crate::func::quoted;
use crate::io::Exit;
use crate::persona::Persona;

#[derive(Debug, Args)]
pub(crate) struct Live {
    /// What would be typed behind "kpt live"
    #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub arguments: Vec<String>,
}

/// Says who applies packages, and how.
pub(crate) fn run(live: &Live, persona: Persona) -> Result<Exit, Failure> {
    let folder = live.arguments.iter().skip(1).find(|argument| !argument.starts_with('-'));
    let folder = quoted(folder.map_or(".", String::as_str));
    let program = persona.program();
    // What is for tools only is unknown to clusters: the Kptfile, and configurations of functions.
    let resources = format!("{program} fn eval {folder} -i remove-local-config-resources -o unwrap");
    let instead = match live.arguments.first().map(String::as_str) {
        Some("destroy") => format!("{resources} | kubectl delete --ignore-not-found -f -"),
        Some("status") => format!("{resources} | kubectl get -f -"),
        Some("init") => {
            "nothing: kubectl, Argo CD and Flux keep their own records of what they applied".into()
        }
        _ => format!("{resources} | kubectl apply --server-side -f -"),
    };
    let text = "packages are not applied to clusters here: that is the work of kubectl, Argo CD or Flux, which take the resources of a package";
    Err(Failure::of(Code::Applying, text)
    .hint(format!(
        "with kubectl: {instead}\n\
         hint: with Argo CD: argocd app create NAME --repo URL --path FOLDER --revision TAG --dest-server SERVER --dest-namespace NAMESPACE\n\
         hint: with Flux: flux create source git NAME --url URL --tag TAG, then flux create kustomization NAME --source GitRepository/NAME --path FOLDER"
    )))
}
