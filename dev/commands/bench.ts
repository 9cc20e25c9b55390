import { spawn } from "node:child_process";
import { join } from "node:path";
import { FLEET_FLAGS } from "../../bench/fleet/options.ts";
import { argumentsOf, runCommand } from "../command.ts";
import { Failure } from "../failure.ts";
import { withTestInstance } from "../levels.ts";
import { execInside } from "../local/exec.ts";
import type { Instance } from "../local/instance.ts";
import { stepsOn } from "../progress.ts";

/** Benches, each a program `bench/NAME.ts`. */
const BENCHES = {
  ready: { onKubernetes: true },
  requests: { onKubernetes: true },
  footprint: { onKubernetes: true },
  scale: { onKubernetes: true },
  heal: { onKubernetes: true },
  roll: { onKubernetes: true },
  watch: { onKubernetes: false },
  backup: { onKubernetes: false },
  archive: { onKubernetes: false },
  fleet: { onKubernetes: false },
  scrape: { onKubernetes: false },
} as const;
type Bench = keyof typeof BENCHES;

/** Name of the benches' own local Kubernetes, apart from the demonstration's and the tests'. */
const BENCH_INSTANCE = "bench";

const USAGE = `Measures. Each bench prints one line of JSON on standard output, and its progress on standard error.

  npm run bench -- ready              seconds to three healthy voters, with and without TLS, against a StatefulSet
  npm run bench -- requests           API requests per cluster and at rest
  npm run bench -- footprint          memory and CPU of the operator, seconds to its first pass
  npm run bench -- scale              seconds from 1 to 3, 3 to 5 and 5 to 3 members under load, and what clients feel
  npm run bench -- heal               seconds from an emptied volume to three healthy voters under load
  npm run bench -- roll               seconds per member when all are restarted under load, against the restart of one pod
  npm run bench -- watch              recovery of the watch cache from cuts, its speed and its memory
  npm run bench -- backup             speed and memory of a backup, against etcdctl and an upload
  npm run bench -- archive            memory of an archiver while its etcd is written to as fast as it takes writes
  npm run bench -- fleet [N]          speed and cost of N clusters of three members at once (default 100);
                                      all but the operator and the API server is simulated
  npm run bench -- scrape             the page of metrics for 1,000 clusters: its size, and how long it takes
  npm run bench -- NAME… [--keep]     several benches on one local Kubernetes; --keep leaves it running
                                      (npm run local -- down --instance ${BENCH_INSTANCE})
  npm run bench -- ready --rounds N   another number of rounds
  npm run bench -- backup --megabytes N
                                      another size of the data
  npm run bench -- fleet [N] --silent K
                                      also edits one cluster while K others have a member that does not answer
  npm run bench -- fleet [N] --tls    clusters with TLS, the operator's default; plain text otherwise
  npm run bench -- fleet [N] --members M --namespaces K
                                      clusters of M members instead of three, spread over K namespaces instead of one
  npm run bench -- fleet [N] --shards S
                                      S operators, each of which leads a part of the clusters
  npm run bench -- fleet [N] --at-once K
                                      at most K clusters that are not Ready at a time, for a large fleet; default: all
  npm run bench -- fleet [N] --brief  only the creation, and the minutes after it
  npm run bench -- fleet [N] --node-flags="FLAGS"
                                      other flags of Node than the image's
  npm run bench -- fleet [N] --profiles FOLDER
                                      CPU profiles of the operator; taking them costs time

docs/performance.md explains the figures.`;

async function main(argv: readonly string[]): Promise<number> {
  const { values, positionals } = parse(argv);
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  if (positionals.length === 0) throw new Failure(USAGE);
  const fleetSize = positionals.filter((text) => /^\d+$/.test(text));
  const names = positionals.filter((text) => !fleetSize.includes(text)).map(known);
  const rounds = values.rounds === undefined ? [] : ["--rounds", values.rounds];
  const root = process.cwd();
  const program = (name: Bench) => [process.execPath, "--expose-gc", join(root, "bench", `${name}.ts`)];
  const alone = names.filter((name) => !BENCHES[name].onKubernetes);
  const codes: number[] = [];
  const size = values.megabytes === undefined ? [] : ["--megabytes", values.megabytes];
  const fleetOptions = Object.entries(values).flatMap(([name, value]) => {
    if (!Object.hasOwn(FLEET_FLAGS, name) || value === false) return [];
    return [value === true ? `--${name}` : `--${name}=${value}`];
  });
  for (const name of alone) {
    const options = { backup: [...rounds, ...size], fleet: [...fleetSize, ...fleetOptions] }[name as string] ?? [];
    codes.push(await ended(spawnHere([...program(name), ...options])));
  }
  const hosted = names.filter((name) => BENCHES[name].onKubernetes);
  if (hosted.length > 0) {
    const measure = async (instance: Instance) => {
      const log = ["--audit-log", join(instance.logs, "audit.log")];
      for (const name of hosted)
        codes.push(await ended(execInside(instance, [...program(name), ...log, ...rounds], { cwd: root })));
    };
    await withTestInstance(root, values.keep, stepsOn(process.stderr), measure, BENCH_INSTANCE);
  }
  return codes.find((code) => code !== 0) ?? 0;
}

function parse(argv: readonly string[]) {
  return argumentsOf(argv, USAGE, {
    allowPositionals: true,
    options: {
      help: { type: "boolean", default: false },
      keep: { type: "boolean", default: false },
      rounds: { type: "string" },
      megabytes: { type: "string" },
      ...FLEET_FLAGS,
    },
  });
}

function known(name: string): Bench {
  if (!Object.hasOwn(BENCHES, name)) throw new Failure(`There is no bench "${name}".\n\n${USAGE}`);
  return name as Bench;
}

function spawnHere(argv: readonly string[]) {
  const [program = "", ...args] = argv;
  return spawn(program, args, { stdio: "inherit" });
}

function ended(child: ReturnType<typeof spawn>): Promise<number> {
  return new Promise((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve(code ?? 1));
  });
}

await runCommand(main);
