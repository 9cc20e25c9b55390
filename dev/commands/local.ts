import { argumentsOf, runCommand } from "../command.ts";
import { Failure } from "../failure.ts";
import { execInside } from "../local/exec.ts";
import { DEFAULT_INSTANCE, findInstance, needInstance } from "../local/instance.ts";
import { seconds, step } from "../progress.ts";
import { DEFAULT_ETCD_VERSION, ETCD_VERSIONS, type EtcdVersion } from "../versions.ts";

// Each command imports its own modules when it runs: `exec` and `status` are called in loops and must start fast.

const USAGE = `Runs a real Kubernetes on this machine, without Docker.

  npm run local -- up [--nodes N]       bring it up (default 3 nodes), or repair what died
  npm run local -- up --etcd VERSION    load the image of this etcd, too: ${ETCD_VERSIONS.join(", ")}
                                        (${DEFAULT_ETCD_VERSION} is always loaded)
  npm run local -- build                build what up needs, and start nothing
  npm run local -- down [--keep]        take it down; --keep keeps its state for the next up
  npm run local -- down --caches        also remove what was built, about 1 GiB; the next up builds it again
  npm run local -- status               show what runs
  npm run local -- load IMAGE.tar       load an image archive into every node
  npm run local -- node stop N          cut the power of node N
  npm run local -- node start N         boot node N again
  npm run local -- node partition N     cut node N off from everything else
  npm run local -- node heal N          connect node N again
  npm run local -- exec -- CMD…         run a command inside its network, with kubectl and DNS

  --instance NAME                       use another instance than the default "${DEFAULT_INSTANCE}"`;

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
      console.log(
        `\nReady after ${seconds(performance.now() - sinceMs)}. To use it: export KUBECONFIG=${instance.kubeconfig}`,
      );
      return 0;
    }
    case "build": {
      const { buildAll } = await import("../local/cluster.ts");
      await buildAll(step, asked(values.etcd));
      return 0;
    }
    case "down": {
      const { down } = await import("../local/cluster.ts");
      if (!(await down(name, values.keep, step))) console.log(`There is no local Kubernetes "${name}".`);
      if (values.caches) await dropCaches();
      return 0;
    }
    case "status": {
      const { statusLines } = await import("../local/status.ts");
      const instance = findInstance(name);
      if (instance === undefined) console.log(`There is no local Kubernetes "${name}".`);
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
      throw new Failure(`There is no command "local ${command}".\n\n${USAGE}`);
  }
}

function parse(argv: readonly string[]) {
  return argumentsOf(argv, USAGE, {
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
}

/** Versions of etcd to load images of: the default, and those of `--etcd`. @throws Failure when a version is unknown */
function asked(named: readonly string[]): readonly EtcdVersion[] {
  const all = [DEFAULT_ETCD_VERSION, ...named.map(etcdVersion)];
  return ETCD_VERSIONS.filter((version) => all.includes(version));
}

function etcdVersion(text: string): EtcdVersion {
  const known = ETCD_VERSIONS.find((version) => version === text);
  if (known === undefined) throw new Failure(`--etcd is "${text}"; it must be one of ${ETCD_VERSIONS.join(", ")}.`);
  return known;
}

async function dropCaches(): Promise<void> {
  const { removeCaches } = await import("../local/caches.ts");
  const { takenSlots } = await import("../local/slots.ts");
  const users = takenSlots().map((record) => record.folder);
  if (!(await removeCaches(users, step))) console.log("There are no caches.");
  console.log("Go's own caches are kept. To delete them: go clean -cache -modcache");
}

async function onNode(name: string, rest: readonly string[]): Promise<void> {
  const [action = "", number] = rest;
  const { healNode, partitionNode, startNode, stopNode } = await import("../local/nodes.ts");
  const actions = { stop: stopNode, start: startNode, partition: partitionNode, heal: healNode };
  if (!Object.hasOwn(actions, action) || number === undefined) {
    throw new Failure(`Usage: npm run local -- node ${Object.keys(actions).join("|")} N`);
  }
  await actions[action as keyof typeof actions](name, Number(number), step);
}

function needOne(rest: readonly string[], usage: string): string {
  const [only] = rest;
  if (only === undefined || rest.length > 1) throw new Failure(`Usage: npm run local -- ${usage}`);
  return only;
}

function exec(name: string, argv: readonly string[]): Promise<number> {
  if (argv.length === 0) throw new Failure("Usage: npm run local -- exec -- CMD…");
  const child = execInside(needInstance(name), argv);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve(code ?? 1));
  });
}

await runCommand(main);
