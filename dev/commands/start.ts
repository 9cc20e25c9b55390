import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import { parseArgs } from "node:util";
import pc from "picocolors";
import { mainBinary } from "../components.ts";
import { givenPlan, KIND_LOADED, localPlan } from "../demonstration.ts";
import { createCluster, deployOperator, KEY_READ, namespacesIn, writeAndRead } from "../deploy.ts";
import { Failure } from "../failure.ts";
import { durationsInCache, Journey, type Planned } from "../journey.ts";
import { Kubectl, needKubectl, onPath } from "../kubectl.ts";
import { up } from "../local/cluster.ts";
import { DEFAULT_INSTANCE } from "../local/instance.ts";
import { loadArchive } from "../local/nodes.ts";
import { ensureOperatorImage } from "../operator-image.ts";
import { type Step, seconds, stepsOn } from "../progress.ts";
import { run } from "../run.ts";

const USAGE = `From nothing to a healthy etcd cluster.

  npm start                                       a Kubernetes of its own on this machine, the operator, and examples/quickstart.yaml
  npm start -- --kubeconfig FILE                  the same on a cluster that is there already
  npm start -- --kubeconfig FILE --image IMAGE    with an image that the cluster can pull, instead of one built here
  npm start -- --secrets-of NAMESPACE,NAMESPACE   besides: the operator may read and write Secrets of clusters only in these, which are
                                                  made where they are missing; the example goes into the first one`;

const EXAMPLE = "examples/quickstart.yaml";

async function main(argv: readonly string[]): Promise<void> {
  const { values } = parse(argv);
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const sinceMs = performance.now();
  const secretsOf = values["secrets-of"] === undefined ? undefined : namespacesIn(values["secrets-of"]);
  // Elsewhere it would wait for the right to have Secrets.
  const where = secretsOf === undefined ? [] : ["-n", secretsOf[0] as string];
  const { kubectl, kubeconfig, image, program, step } =
    values.kubeconfig === undefined ? await onLocal() : await onGiven(resolve(values.kubeconfig), values.image);
  await deployOperator(kubectl, image, step, secretsOf);
  const cluster = await createCluster(kubectl, EXAMPLE, step, where);
  const value = await step(KEY_READ, (note) => writeAndRead(kubectl, cluster, note, where));
  const { stdout } = await kubectl.run([...where, "get", "etcdcluster", cluster]);
  console.log(
    `\n${stdout.trim()}\n\netcd says: ${value}\n${pc.dim(`all of it took ${seconds(performance.now() - sinceMs)}`)}`,
  );
  console.log(whatNext(kubeconfig, program, cluster, where, values.kubeconfig === undefined));
}

/** Tells how long it will take, and then each step with its place. */
function stepsOf(plan: readonly Planned[]): Step {
  const journey = new Journey(plan, durationsInCache());
  console.log(`${journey.summary()}\n`);
  return stepsOn(process.stdout, journey);
}

/** A Kubernetes of our own, with the image loaded into its nodes. */
async function onLocal() {
  const step = stepsOf(localPlan());
  const instance = await up(DEFAULT_INSTANCE, undefined, step);
  const archive = await ensureOperatorImage(process.cwd(), step);
  await loadArchive(DEFAULT_INSTANCE, archive.file, step);
  const program = mainBinary("kubectl");
  return {
    kubectl: new Kubectl(program, instance.kubeconfig),
    kubeconfig: instance.kubeconfig,
    image: archive.name,
    program,
    step,
  };
}

/** A cluster that is there. Without an image to pull, one is built and given to kind, if it is a cluster of kind's. */
async function onGiven(kubeconfig: string, image: string | undefined) {
  if (!existsSync(kubeconfig)) throw new Failure(`--kubeconfig: there is no file ${kubeconfig}`);
  const program = needKubectl();
  const kubectl = new Kubectl(program, kubeconfig);
  const { stdout } = await kubectl.run(["config", "current-context"]);
  const context = stdout.trim();
  if (image === undefined) needKind(context);
  const step = stepsOf(givenPlan(image === undefined));
  return { kubectl, kubeconfig, program, step, image: image ?? (await giveToKind(needKind(context), step)) };
}

/** @returns kind's own name of the cluster @throws Failure when no image can be built for the cluster and loaded into it */
function needKind(context: string): { cluster: string; kind: string } {
  const cluster = /^kind-(.+)$/.exec(context)?.[1];
  const kind = onPath("kind");
  if (cluster === undefined || kind === undefined) {
    throw new Failure(
      `the cluster of context "${context}" has to get the operator's image from somewhere: push one to a registry that it can pull from and name it with --image (images are built and loaded by themselves only for kind)`,
    );
  }
  if (process.platform !== "linux") throw new Failure(imageOnLinuxOnly(cluster));
  return { cluster, kind };
}

/** The image carries this machine's own Node and the libraries that it is linked against, so it has to be a Linux one. */
function imageOnLinuxOnly(cluster: string): string {
  return `the operator's image is made of Linux programs and cannot be built on this system (${process.platform}). Build it on Linux, on a processor as the cluster's, and load it here:

  on Linux:  npm run image -- operator.tar          it says the image's name
  here:      kind load image-archive operator.tar --name ${cluster}
             npm start -- --kubeconfig FILE --image NAME`;
}

async function giveToKind({ cluster, kind }: { cluster: string; kind: string }, step: Step): Promise<string> {
  const archive = await ensureOperatorImage(process.cwd(), step);
  await step(KIND_LOADED, () => run(kind, ["load", "image-archive", archive.file, "--name", cluster]));
  return archive.name;
}

function whatNext(
  kubeconfig: string,
  program: string,
  cluster: string,
  where: readonly string[],
  isLocal: boolean,
): string {
  const kubectl = ["kubectl", ...where].join(" ");
  const path = onPath("kubectl") === undefined ? `export PATH="${dirname(program)}:$PATH"\n  ` : "";
  const lines = [
    `${path}export KUBECONFIG=${kubeconfig}`,
    `${kubectl} get etcdcluster,etcdpeer,pods,pvc`,
    `${kubectl} delete pod -l etcd.improbable.io/peer-name=${cluster}-0     # and watch it come back with its data:`,
    `${kubectl} exec rs/${cluster}-0 -c etcd -- etcdctl put greeting hello     # it speaks TLS, and etcdctl knows how`,
    `${kubectl} get etcdcluster ${cluster} --watch`,
    `${kubectl} describe etcdcluster ${cluster}     # what the operator did, and why`,
  ];
  const end = isLocal
    ? "\nnpm run local -- down takes all of it away again, but for what was built, which the next npm start uses (npm run local -- down --caches)."
    : "";
  return `\nTry next:\n\n  ${lines.join("\n  ")}\n${end}`;
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        help: { type: "boolean" },
        kubeconfig: { type: "string" },
        image: { type: "string" },
        "secrets-of": { type: "string" },
      },
    });
  } catch (thrown) {
    throw new Failure(`${thrown instanceof Error ? thrown.message : thrown}\n\n${USAGE}`);
  }
}

try {
  await main(process.argv.slice(2));
} catch (thrown) {
  // A Failure says all that helps; anything else is a defect of ours, and its stack is wanted.
  console.error(thrown instanceof Failure ? `\n${thrown.message}` : thrown);
  process.exitCode = 1;
}
