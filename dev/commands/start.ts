import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import pc from "picocolors";
import { argumentsOf, runCommand } from "../command.ts";
import { mainBinary } from "../components.ts";
import { needConsent, TERMINAL, targetOf } from "../consent.ts";
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

const USAGE = `Creates a healthy etcd cluster from nothing.

  npm start                                       starts a Kubernetes on this machine, deploys the operator, and creates
                                                  the cluster of examples/quickstart.yaml
  npm start -- --kubeconfig FILE                  uses an existing Kubernetes; asks first, unless it is kind's
  npm start -- --kubeconfig FILE --yes            does not ask
  npm start -- --kubeconfig FILE --image IMAGE    uses an image that the Kubernetes can pull, instead of building one
  npm start -- --secrets-of NAMESPACE,NAMESPACE   lets the operator read and write Secrets of clusters only in these
                                                  namespaces; creates missing ones, and the example in the first one`;

const EXAMPLE = "examples/quickstart.yaml";

async function main(argv: readonly string[]): Promise<void> {
  const { values } = parse(argv);
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const sinceMs = performance.now();
  const secretsOf = values["secrets-of"] === undefined ? undefined : namespacesIn(values["secrets-of"]);
  // In any other namespace the example would wait for the right to Secrets.
  const where = secretsOf === undefined ? [] : ["-n", secretsOf[0] as string];
  const { kubectl, kubeconfig, image, program, step } =
    values.kubeconfig === undefined
      ? await onLocal()
      : await onGiven(resolve(values.kubeconfig), values.image, values.yes === true);
  await deployOperator(kubectl, image, step, secretsOf);
  const { name: cluster, isOurs } = await createCluster(kubectl, EXAMPLE, step, where);
  if (!isOurs) {
    console.log(
      `\nThe operator is installed. EtcdCluster ${cluster} exists and was not created by npm start, so it was not changed: no example was created, and no key was written.`,
    );
    return;
  }
  const value = await step(KEY_READ, (note) => writeAndRead(kubectl, cluster, note, where));
  const { stdout } = await kubectl.run([...where, "get", "etcdcluster", cluster]);
  console.log(
    `\n${stdout.trim()}\n\netcd says: ${value}\n${pc.dim(`All steps took ${seconds(performance.now() - sinceMs)}.`)}`,
  );
  console.log(whatNext(kubeconfig, program, cluster, where, values.kubeconfig === undefined));
}

/** Prints the number of steps and the expected time, and returns steps that print their number. */
function stepsOf(plan: readonly Planned[]): Step {
  const journey = new Journey(plan, durationsInCache());
  console.log(`${journey.summary()}\n`);
  return stepsOn(process.stdout, journey);
}

/** Starts a local Kubernetes, with the operator's image loaded into its nodes. */
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

/**
 * Prepares an existing cluster. Without `--image`, an image is built and loaded into the cluster, which must be kind's.
 */
async function onGiven(kubeconfig: string, image: string | undefined, isYes: boolean) {
  if (!existsSync(kubeconfig)) throw new Failure(`--kubeconfig: there is no file ${kubeconfig}.`);
  const program = needKubectl();
  const target = await targetOf(new Kubectl(program, kubeconfig));
  const { context } = target;
  const kubectl = new Kubectl(program, kubeconfig, context);
  if (image === undefined) needKind(context);
  console.log(`Context ${context}, server ${target.server}\n`);
  await needConsent(target, isYes, TERMINAL);
  const step = stepsOf(givenPlan(image === undefined));
  return { kubectl, kubeconfig, program, step, image: image ?? (await giveToKind(needKind(context), step)) };
}

/**
 * @returns kind's name of the cluster, and its program
 * @throws Failure when no image can be built and loaded for the cluster
 */
function needKind(context: string): { cluster: string; kind: string } {
  const cluster = /^kind-(.+)$/.exec(context)?.[1];
  const kind = onPath("kind");
  if (cluster === undefined || kind === undefined) {
    throw new Failure(
      `The cluster of context "${context}" needs an image of the operator. Push one to a registry that the cluster can pull from, and name it with --image. Only for kind, npm start builds and loads an image itself.`,
    );
  }
  if (process.platform !== "linux") throw new Failure(imageOnLinuxOnly(cluster));
  return { cluster, kind };
}

/** Failure on other systems: the image contains this machine's own Node and its libraries, which must be Linux ones. */
function imageOnLinuxOnly(cluster: string): string {
  return `The operator's image contains Linux programs and cannot be built on this system (${process.platform}). Build it on Linux, on the cluster's processor architecture, and load it here:

  on Linux:  npm run image -- operator.tar          prints the image's NAME
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
    ? "\nTo remove the local Kubernetes: npm run local -- down\nThe next npm start uses what was built. To remove that, too: npm run local -- down --caches"
    : "";
  return `\nTry next:\n\n  ${lines.join("\n  ")}\n${end}`;
}

function parse(argv: readonly string[]) {
  return argumentsOf(argv, USAGE, {
    options: {
      help: { type: "boolean" },
      kubeconfig: { type: "string" },
      image: { type: "string" },
      yes: { type: "boolean" },
      "secrets-of": { type: "string" },
    },
  });
}

await runCommand(main);
