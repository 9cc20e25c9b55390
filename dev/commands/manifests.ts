import { crdManifests, operatorManifests } from "../../scripts/manifests.ts";
import { secretsIn } from "../../scripts/rights.ts";
import { yamlOf } from "../../scripts/yaml.ts";
import { argumentsOf, runCommand } from "../command.ts";
import { namespacesIn, repositoriesIn } from "../deploy.ts";
import { Failure } from "../failure.ts";

const USAGE = `Prints all manifests that install or upgrade the operator, as YAML for kubectl or GitOps.

  npm run -s manifests -- --image IMAGE      IMAGE is such as registry.example/etcd-cluster-operator:0.1.0
  npm run -s manifests -- --image IMAGE --secrets-of NAMESPACE,NAMESPACE
                                             the operator may read and write Secrets of clusters only in these
                                             namespaces, which must exist
  npm run -s manifests -- --image IMAGE --watch-namespaces NAMESPACE,NAMESPACE
                                             the operator reads and manages objects only in these namespaces, which must
                                             exist; it gets Roles there, and no rights to objects elsewhere
  npm run -s manifests -- --image IMAGE --etcd-repositories REPOSITORY,REPOSITORY
                                             etcd's images come from the first; verifications and restores with a
                                             serviceAccountName in podTemplate may run images of all of them

  npm run -s manifests -- --image IMAGE | kubectl apply --server-side --force-conflicts -f -`;

function main(argv: readonly string[]): void {
  const {
    help,
    image,
    "secrets-of": secretsOf,
    "watch-namespaces": watched,
    "etcd-repositories": repositories,
  } = parse(argv);
  if (help) {
    console.log(USAGE);
    return;
  }
  if (image === undefined)
    throw new Failure(`--image is missing: name an image that the cluster can pull.\n\n${USAGE}`);
  const namespaces = watched === undefined ? undefined : namespacesIn(watched, "--watch-namespaces");
  const bindings = secretsOf === undefined ? [] : namespacesIn(secretsOf).map((each) => secretsIn(each));
  const reach = secretsOf === undefined ? "everywhere" : "bound";
  const operator = operatorManifests(
    image,
    reach,
    repositories === undefined ? undefined : repositoriesIn(repositories),
    namespaces,
  );
  process.stdout.write(yamlOf([...crdManifests(), ...operator, ...bindings]));
}

function parse(argv: readonly string[]) {
  const options = {
    help: { type: "boolean" },
    image: { type: "string" },
    "secrets-of": { type: "string" },
    "watch-namespaces": { type: "string" },
    "etcd-repositories": { type: "string" },
  } as const;
  return argumentsOf(argv, USAGE, { options }).values;
}

await runCommand(main);
