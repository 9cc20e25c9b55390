import { parseArgs } from "node:util";
import { Failure } from "../failure.ts";
import { execInside } from "../local/exec.ts";
import { DEFAULT_INSTANCE, findInstance, needInstance } from "../local/instance.ts";
import { seconds, step } from "../progress.ts";
import { DEFAULT_ETCD_VERSION, ETCD_VERSIONS, type EtcdVersion } from "../versions.ts";

// What a command needs is loaded when it runs: `exec` and `status` are called in loops and should not pay for `up`.

const USAGE = `A real Kubernetes on this machine, without Docker.

  npm run local -- up [--nodes N]       bring it up (default 3 nodes), or repair what died
  npm run local -- up --etcd VERSION    also with the image of this etcd: ${ETCD_VERSIONS.join(", ")} (default: ${DEFAULT_ETCD_VERSION})
  npm run local -- build                build what up needs, and start nothing
  npm run local -- down [--keep]        take it down; --keep keeps its state for the next up
  npm run local -- down --caches        also remove what was built, about 1 GiB, which the next up would have to build again
  npm run local -- status               what runs
  npm run local -- load IMAGE.tar       load an image archive into every node
  npm run local -- node stop N          cut the power of node N
  npm run local -- node start N         boot it again
  npm run local -- node partition N     cut node N off from everything else
  npm run local -- node heal N          connect it again
  npm run local -- exec -- CMD…         run a command inside its network, with kubectl and DNS

  --instance NAME                       another one beside the default "${DEFAULT_INSTANCE}"`;

async function main(argv: readonly string[]): Promise<number> {
  const dashes = argv.indexOf("--");
  const own = dashes === -1 ? argv : argv.slice(0, dashes);
  const { values, positionals } = parse(own);
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  const name = values.instance;
  const [command, ...rest] = positionals;
  switch (command) {
    case "up": {
      const { up } = await import("../local/cluster.ts");
      const sinceMs = performance.now();
      const nodes = values.nodes === undefined ? undefined : Number(values.nodes);
      const instance = await up(name, nodes, step, asked(values.etcd));
      console.log(`\nready after ${seconds(performance.now() - sinceMs)}: export KUBECONFIG=${instance.kubeconfig}`);
      return 0;
    }
    case "build": {
      const { buildAll } = await import("../local/cluster.ts");
      await buildAll(step, asked(values.etcd));
      return 0;
    }
    case "down": {
      const { down } = await import("../local/cluster.ts");
      if (!(await down(name, values.keep, step))) console.log(`there is no local Kubernetes "${name}"`);
      if (values.caches) await dropCaches();
      return 0;
    }
    case "status": {
      const { statusLines } = await import("../local/status.ts");
      const instance = findInstance(name);
      if (instance === undefined) console.log(`there is no local Kubernetes "${name}"`);
      else console.log((await statusLines(instance, Date.now())).join("\n"));
      return instance === undefined ? 1 : 0;
    }
    case "load": {
      const { loadArchive } = await import("../local/nodes.ts");
      await loadArchive(name, needOne(rest, "load IMAGE.tar"), step);
      return 0;
    }
    case "node":
      await onNode(name, rest);
      return 0;
    case "exec":
      return await exec(name, dashes === -1 ? rest : argv.slice(dashes + 1));
    case undefined:
      console.log(USAGE);
      return 0;
    default:
      throw new Failure(`there is no command "local ${command}"\n\n${USAGE}`);
  }
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      allowPositionals: true,
      options: {
        instance: { type: "string", default: DEFAULT_INSTANCE },
        nodes: { type: "string" },
        etcd: { type: "string", multiple: true, default: [] },
        keep: { type: "boolean", default: false },
        caches: { type: "boolean", default: false },
        help: { type: "boolean", default: false },
      },
    });
  } catch (thrown) {
    throw new Failure(`${thrown instanceof Error ? thrown.message : thrown}\n\n${USAGE}`);
  }
}

/** @throws Failure when there is no image of this version */
/** The versions of etcd whose images are wanted: the default one, and those that were named. */
function asked(named: readonly string[]): readonly EtcdVersion[] {
  const all = [DEFAULT_ETCD_VERSION, ...named.map(etcdVersion)];
  return ETCD_VERSIONS.filter((version) => all.includes(version));
}

function etcdVersion(text: string): EtcdVersion {
  const known = ETCD_VERSIONS.find((version) => version === text);
  if (known === undefined) throw new Failure(`--etcd is "${text}"; it may be ${ETCD_VERSIONS.join(", ")}`);
  return known;
}

async function dropCaches(): Promise<void> {
  const { removeCaches } = await import("../local/caches.ts");
  const { takenSlots } = await import("../local/slots.ts");
  const users = takenSlots().map((record) => record.folder);
  if (!(await removeCaches(users, step))) console.log("there are no caches");
  console.log("Go's own caches stay: go clean -cache -modcache");
}

async function onNode(name: string, rest: readonly string[]): Promise<void> {
  const [action = "", number] = rest;
  const { healNode, partitionNode, startNode, stopNode } = await import("../local/nodes.ts");
  const actions = { stop: stopNode, start: startNode, partition: partitionNode, heal: healNode };
  if (!Object.hasOwn(actions, action) || number === undefined) {
    throw new Failure(`it is: node ${Object.keys(actions).join("|")} N`);
  }
  await actions[action as keyof typeof actions](name, Number(number), step);
}

function needOne(rest: readonly string[], usage: string): string {
  const [only] = rest;
  if (only === undefined || rest.length > 1) throw new Failure(`it is: ${usage}`);
  return only;
}

function exec(name: string, argv: readonly string[]): Promise<number> {
  if (argv.length === 0) throw new Failure("it is: exec -- CMD…");
  const child = execInside(needInstance(name), argv);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve(code ?? 1));
  });
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (thrown) {
  // A Failure says all that helps; anything else is a defect of ours, and its stack is wanted.
  console.error(thrown instanceof Failure ? `\n${thrown.message}` : thrown);
  process.exitCode = 1;
}
