// Porch's own reading and writing of packages in Git, for the tests of crates/repository.
//
// Orders come in as lines of JSON, answers go out as lines of JSON: {"done": …} or {"error": "…"}. It is built inside of
// a checkout of Porch by build.sh; nothing of Porch is kept in this repository.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"sort"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/http"
	porchapi "github.com/nephio-project/porch/api/porch/v1alpha1"
	configapi "github.com/nephio-project/porch/api/porchconfig/v1alpha1"
	"github.com/nephio-project/porch/pkg/externalrepo/git"
	extrepo "github.com/nephio-project/porch/pkg/externalrepo/types"
	"github.com/nephio-project/porch/pkg/repository"
	"k8s.io/klog/v2"
)

// order is one line of the input. What it needs depends on what is to be done.
type order struct {
	Do string `json:"do"`

	// open
	URL          string `json:"url"`
	Branch       string `json:"branch"`
	Directory    string `json:"directory"`
	CreateBranch bool   `json:"createBranch"`
	Author       string `json:"author"`
	Email        string `json:"email"`
	User         string `json:"user"`
	Login        *login `json:"login"`

	// all others, as far as they are about one revision
	Package   string            `json:"package"`
	Workspace string            `json:"workspace"`
	Resources map[string]string `json:"resources"`
	Task      *porchapi.Task    `json:"task"`
}

// login is what Porch would find in a Secret.
type login struct {
	User     string `json:"user"`
	Password string `json:"password"`
}

func (l *login) Valid() bool      { return true }
func (l *login) ToString() string { return "" }
func (l *login) ToAuthMethod() transport.AuthMethod {
	return &http.BasicAuth{Username: l.User, Password: l.Password}
}
func (l *login) ResolveCredential(context.Context, string, string) (repository.Credential, error) {
	return l, nil
}

// user is who makes requests.
type user string

func (u user) GetUserInfo(context.Context) *repository.UserInfo {
	return &repository.UserInfo{Name: string(u), Email: string(u)}
}

// revision is what Porch says of one package revision.
type revision struct {
	Name       string                   `json:"name"`
	Package    string                   `json:"package"`
	Workspace  string                   `json:"workspace"`
	Revision   int                      `json:"revision"`
	Lifecycle  string                   `json:"lifecycle"`
	Ref        string                   `json:"ref"`
	Commit     string                   `json:"commit"`
	Author     string                   `json:"author"`
	Time       int64                    `json:"time"`
	Tasks      []porchapi.Task          `json:"tasks"`
	Labels     map[string]string        `json:"labels,omitempty"`
	Gates      []porchapi.ReadinessGate `json:"gates,omitempty"`
	Conditions []porchapi.Condition     `json:"conditions,omitempty"`
	// The ids that Git gives to the contents of its files.
	Files map[string]string `json:"files"`
}

type session struct {
	scratch string
	opened  int
	repo    git.GitRepository
}

func main() {
	flags := flag.NewFlagSet("klog", flag.ExitOnError)
	klog.InitFlags(flags)
	_ = flags.Set("logtostderr", "false")
	_ = flags.Set("stderrthreshold", "FATAL")
	klog.SetOutput(discard{})
	scratch, err := os.MkdirTemp("", "porch-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer os.RemoveAll(scratch)
	s := &session{scratch: scratch}
	input := bufio.NewReader(os.Stdin)
	output := json.NewEncoder(os.Stdout)
	output.SetEscapeHTML(false)
	for {
		line, err := input.ReadBytes('\n')
		if err != nil {
			return
		}
		var o order
		answer := map[string]any{}
		if err := json.Unmarshal(line, &o); err != nil {
			answer["error"] = err.Error()
		} else if done, err := s.obey(context.Background(), o); err != nil {
			answer["error"] = err.Error()
		} else {
			answer["done"] = done
		}
		if err := output.Encode(answer); err != nil {
			return
		}
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func (s *session) obey(ctx context.Context, o order) (any, error) {
	if o.Do == "open" {
		return nil, s.open(ctx, o)
	}
	if s.repo == nil {
		return nil, errors.New("nothing is open")
	}
	// What others did meanwhile, marks included.
	if err := s.repo.Refresh(ctx); err != nil {
		return nil, err
	}
	switch o.Do {
	case "list":
		return s.list(ctx)
	case "resources":
		return s.resources(ctx, o)
	case "create":
		return s.create(ctx, o, porchapi.PackageRevisionLifecycleDraft)
	case "publish":
		// As the database cache does it: draft and approval in one push.
		return s.create(ctx, o, porchapi.PackageRevisionLifecyclePublished)
	case "update":
		return s.update(ctx, o, "")
	case "propose":
		return s.update(ctx, o, porchapi.PackageRevisionLifecycleProposed)
	case "reject":
		return s.update(ctx, o, porchapi.PackageRevisionLifecycleDraft)
	case "approve":
		return s.update(ctx, o, porchapi.PackageRevisionLifecyclePublished)
	case "propose-deletion":
		return s.mark(ctx, o, porchapi.PackageRevisionLifecycleDeletionProposed)
	case "reject-deletion":
		return s.mark(ctx, o, porchapi.PackageRevisionLifecyclePublished)
	case "delete":
		found, err := s.find(ctx, o)
		if err != nil {
			return nil, err
		}
		return nil, s.repo.DeletePackageRevision(ctx, found)
	default:
		return nil, fmt.Errorf("unknown order %q", o.Do)
	}
}

func (s *session) open(ctx context.Context, o order) error {
	if s.repo != nil {
		_ = s.repo.Close(ctx)
		s.repo = nil
	}
	spec := &configapi.GitRepository{
		Repo: o.URL, Branch: o.Branch, Directory: o.Directory, CreateBranch: o.CreateBranch, Author: o.Author, Email: o.Email,
	}
	options := git.GitRepositoryOptions{
		ExternalRepoOptions: extrepo.ExternalRepoOptions{RepoOperationRetryAttempts: 3},
		MainBranchStrategy:  git.ErrorIfMissing,
	}
	if o.CreateBranch {
		options.MainBranchStrategy = git.CreateIfMissing
	}
	if o.Login != nil {
		spec.SecretRef.Name = "login"
		options.CredentialResolver = o.Login
	}
	if o.User != "" {
		options.UserInfoProvider = user(o.User)
	}
	s.opened++
	root := fmt.Sprintf("%s/%d", s.scratch, s.opened)
	repo, err := git.OpenRepository(ctx, "repo", "ns", spec, false, root, options)
	if err != nil {
		return err
	}
	s.repo = repo
	return nil
}

func (s *session) all(ctx context.Context, o order) ([]repository.PackageRevision, error) {
	all, err := s.repo.ListPackageRevisions(ctx, repository.ListPackageRevisionFilter{})
	if err != nil {
		return nil, err
	}
	var chosen []repository.PackageRevision
	for _, found := range all {
		if o.Package == "" || found.Key().PKey().ToPkgPathname() == o.Package {
			chosen = append(chosen, found)
		}
	}
	return chosen, nil
}

func (s *session) find(ctx context.Context, o order) (repository.PackageRevision, error) {
	all, err := s.all(ctx, o)
	if err != nil {
		return nil, err
	}
	for _, found := range all {
		if found.Key().WorkspaceName == o.Workspace {
			return found, nil
		}
	}
	return nil, fmt.Errorf("there is no %s %s", o.Package, o.Workspace)
}

func (s *session) list(ctx context.Context) (any, error) {
	all, err := s.all(ctx, order{})
	if err != nil {
		return nil, err
	}
	revisions := []revision{}
	for _, found := range all {
		described, err := describe(ctx, found)
		if err != nil {
			return nil, err
		}
		revisions = append(revisions, described)
	}
	sort.Slice(revisions, func(i, j int) bool {
		a, b := revisions[i], revisions[j]
		if a.Package != b.Package {
			return a.Package < b.Package
		}
		return a.Ref < b.Ref
	})
	return revisions, nil
}

func describe(ctx context.Context, found repository.PackageRevision) (revision, error) {
	object, err := found.GetPackageRevision(ctx)
	if err != nil {
		return revision{}, err
	}
	resources, err := found.GetResources(ctx)
	if err != nil {
		return revision{}, err
	}
	files := map[string]string{}
	for path, content := range resources.Spec.Resources {
		files[path] = plumbing.ComputeHash(plumbing.BlobObject, []byte(content)).String()
	}
	when, who := found.GetCommitInfo()
	seconds := when.Unix()
	if when.Equal(time.Time{}) {
		seconds = 0
	}
	described := revision{
		Name: found.KubeObjectName(), Package: object.Spec.PackageName, Workspace: object.Spec.WorkspaceName,
		Revision: object.Spec.Revision, Lifecycle: string(object.Spec.Lifecycle), Commit: found.ResourceVersion(),
		Author: who, Time: seconds, Tasks: object.Spec.Tasks, Labels: object.Spec.PackageMetadata.Labels,
		Gates: object.Spec.ReadinessGates, Conditions: object.Status.Conditions, Files: files,
	}
	if object.Status.SelfLock != nil && object.Status.SelfLock.Git != nil {
		described.Ref = object.Status.SelfLock.Git.Ref
	}
	return described, nil
}

func (s *session) resources(ctx context.Context, o order) (any, error) {
	found, err := s.find(ctx, o)
	if err != nil {
		return nil, err
	}
	resources, err := found.GetResources(ctx)
	if err != nil {
		return nil, err
	}
	return resources.Spec.Resources, nil
}

func (s *session) create(ctx context.Context, o order, lifecycle porchapi.PackageRevisionLifecycle) (any, error) {
	draft, err := s.repo.CreatePackageRevisionDraft(ctx, &porchapi.PackageRevision{
		Spec: porchapi.PackageRevisionSpec{PackageName: o.Package, WorkspaceName: o.Workspace, RepositoryName: "repo"},
	})
	if err != nil {
		return nil, err
	}
	return s.finish(ctx, o, draft, lifecycle)
}

func (s *session) update(ctx context.Context, o order, lifecycle porchapi.PackageRevisionLifecycle) (any, error) {
	found, err := s.find(ctx, o)
	if err != nil {
		return nil, err
	}
	draft, err := s.repo.UpdatePackageRevision(ctx, found)
	if err != nil {
		return nil, err
	}
	return s.finish(ctx, o, draft, lifecycle)
}

// finish writes resources, if there are any, and closes the draft in its new state.
func (s *session) finish(
	ctx context.Context, o order, draft repository.PackageRevisionDraft, lifecycle porchapi.PackageRevisionLifecycle,
) (any, error) {
	if o.Resources != nil {
		resources := &porchapi.PackageRevisionResources{Spec: porchapi.PackageRevisionResourcesSpec{Resources: o.Resources}}
		if err := draft.UpdateResources(ctx, resources, o.Task); err != nil {
			return nil, err
		}
	}
	if lifecycle != "" {
		if err := draft.UpdateLifecycle(ctx, lifecycle); err != nil {
			return nil, err
		}
	}
	number := 0
	if lifecycle == porchapi.PackageRevisionLifecyclePublished {
		next, err := s.next(ctx, o)
		if err != nil {
			return nil, err
		}
		number = next
	}
	closed, err := s.repo.ClosePackageRevisionDraft(ctx, draft, number)
	if err != nil {
		return nil, err
	}
	return describe(ctx, closed)
}

// next is one more than the highest number that is listed, which is the rule of Porch's caches.
func (s *session) next(ctx context.Context, o order) (int, error) {
	all, err := s.all(ctx, o)
	if err != nil {
		return 0, err
	}
	highest := 0
	for _, found := range all {
		if porchapi.LifecycleIsPublished(found.Lifecycle(ctx)) {
			highest = max(highest, found.Key().Revision)
		}
	}
	return highest + 1, nil
}

func (s *session) mark(ctx context.Context, o order, lifecycle porchapi.PackageRevisionLifecycle) (any, error) {
	found, err := s.find(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := found.UpdateLifecycle(ctx, lifecycle); err != nil {
		return nil, err
	}
	return describe(ctx, found)
}
