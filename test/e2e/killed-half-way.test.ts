import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, expect, onTestFinished, test } from "vitest";
import { HOST_MOUNTS } from "#dev/levels.ts";
import { linkOf } from "#dev/local/addresses.ts";
import { hierarchies, instanceCgroup, processesIn } from "#dev/local/cgroups.ts";
import { findInstance, type Instance, stateFolder } from "#dev/local/instance.ts";
import { mountsBelow, parseMountinfo } from "#dev/local/mounts.ts";
import { RUN_ROOT, TOKEN_VARIABLE } from "#dev/local/slots.ts";
import { childrenOf, insideNetwork, isAlive, type ProcessId, withEnvironment } from "#dev/proc.ts";
import { run } from "#dev/run.ts";
import { eventually } from "#kit/e2e/e2e.ts";

// `up` and `down` are killed at several points; a `down` that is not killed then removes everything. Uses a Kubernetes
// of one node next to the one of the tests.

const NAME = "killed";
const FOLDER = stateFolder(NAME);

/** Runs argv in the machine's own namespaces, as a person would: this test itself runs inside another Kubernetes. */
function onHost(...argv: readonly string[]): [string, string[]] {
  const mounts = process.env[HOST_MOUNTS];
  if (mounts === undefined) throw new Error(`${HOST_MOUNTS} is not set: run npm run test:e2e`);
  const network = mounts.replace(/mnt$/, "net");
  return ["nsenter", [`--mount=${mounts}`, `--net=${network}`, `--wd=${process.cwd()}`, "--", ...argv]];
}

function local(...args: readonly string[]): [string, string[]] {
  return onHost(process.execPath, "dev/commands/local.ts", "--instance", NAME, ...args);
}

async function down(): Promise<void> {
  await run(...local("down"));
}

afterEach(down);

/** Starts the command and kills it with SIGKILL once `reached` returns true. */
async function killWhen(reached: () => boolean, ...command: readonly string[]): Promise<void> {
  // nsenter executes the command in its own process, so the process ID stays the same.
  const child: ChildProcess = spawn(...local(...command), { stdio: ["ignore", "ignore", "pipe"] });
  const ended = once(child, "close");
  let words = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    words += chunk.toString();
  });
  while (!reached()) {
    if (child.exitCode !== null) throw new Error(`"${command.join(" ")}" ended before it could be killed: ${words}`);
    await sleep(1);
  }
  child.kill("SIGKILL");
  await ended;
  expect(child.signalCode).toBe("SIGKILL");
}

/**
 * Makes the command kill itself with SIGKILL right after it has removed the folder. It ends too soon after that to be
 * killed from outside.
 */
async function killOnceRemoved(folder: string, ...command: readonly string[]): Promise<void> {
  const killing = `import fs from "node:fs";
    import { syncBuiltinESMExports } from "node:module";
    const { rmSync } = fs;
    fs.rmSync = (path, options) => {
      rmSync(path, options);
      if (path === ${JSON.stringify(folder)}) process.kill(process.pid, "SIGKILL");
    };
    syncBuiltinESMExports();`;
  const env = { ...process.env, NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(killing)}` };
  const child = spawn(...local(...command), { stdio: "ignore", env });
  await once(child, "close");
  expect(child.signalCode).toBe("SIGKILL");
}

/** Everything that an instance may leave behind, found without its own code for `down`. */
async function remains(instance: Instance, inNetwork: readonly ProcessId[]) {
  const [program, args] = onHost("cat", "/proc/self/mountinfo");
  const mounts = parseMountinfo((await run(program, args)).stdout);
  const link = await run(...onHost("ip", "link", "show", linkOf(instance.slot).hostDevice), { mayFail: true });
  return {
    marked: withEnvironment(TOKEN_VARIABLE, instance.token),
    inCgroups: processesIn(instanceCgroup(instance.slot)),
    inNetwork: inNetwork.filter(isAlive),
    mounts: [...mountsBelow(mounts, FOLDER), ...mountsBelow(mounts, instance.runFolder)],
    link: link.stdout,
    cgroups: hierarchies(mounts).filter((hierarchy) => existsSync(join(hierarchy, instanceCgroup(instance.slot)))),
    runFolder: existsSync(instance.runFolder),
    slots: readdirSync(join(RUN_ROOT, "slots")).filter((name) => name.startsWith(`${instance.slot}.`)),
    stateFolder: existsSync(FOLDER),
  };
}

const NOTHING: Awaited<ReturnType<typeof remains>> = {
  marked: [],
  inCgroups: [],
  inNetwork: [],
  mounts: [],
  link: "",
  cgroups: [],
  runFolder: false,
  slots: [],
  stateFolder: false,
};

/** The instance, which must have a slot. @throws Error when it has none */
function known(): Instance {
  const instance = findInstance(NAME);
  if (instance === undefined) throw new Error(`${NAME} has no slot`);
  return instance;
}

/** All processes in the instance's network. Call it while the network exists: the kernel reuses its inode number. */
async function insideNetworkOf(instance: Instance): Promise<readonly ProcessId[]> {
  const { code, stdout } = await run(...onHost("stat", "--format=%i", instance.networkFile), { mayFail: true });
  return code === 0 ? insideNetwork(Number(stdout)) : [];
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return ""; // the process may have ended
  }
}

/** Whether a component of the instance was started, according to its process table. */
function isStarted(component: string): boolean {
  return readIfThere(join(FOLDER, "processes.json")).includes(`"${component}"`);
}

test.each([
  ["it has a slot and nothing else", () => findInstance(NAME) !== undefined],
  ["the network is being created", () => existsSync(findInstance(NAME)?.networkFile ?? "/nowhere")],
  ["the node boots", () => isStarted("node-1")],
  ["the kubelet starts", () => isStarted("kubelet-1")],
])("after a kill of `up` when %s, `down` leaves nothing behind", async (_when, reached) => {
  await killWhen(reached, "up", "--nodes", "1");
  const instance = known();
  const inside = await insideNetworkOf(instance);
  await down();
  expect(await remains(instance, inside)).toEqual(NOTHING);
});

test("after a kill of `down` while a process is ending, the next `down` waits for that process", async () => {
  await run(...local("up", "--nodes", "1"));
  const instance = known();
  // The init process of a PID namespace ends only when all others are gone and reaped by their parent, here nsenter.
  const inner = spawn(...local("exec", "--", "unshare", "--pid", "--fork", "sleep", "600"), { stdio: "ignore" });
  onTestFinished(() => void inner.kill());
  const isFirst = ({ pid }: ProcessId) => readIfThere(`/proc/${pid}/cmdline`) === "sleep\x00600\x00";
  const first = await eventually(async () => {
    const found = (await insideNetworkOf(instance)).find(isFirst);
    if (found === undefined) throw new Error("sleep has not begun");
    return found;
  });
  const parent = spawn("nsenter", [`--pid=/proc/${first.pid}/ns/pid`, "--", "sleep", "600"], { stdio: "ignore" });
  onTestFinished(() => void parent.kill("SIGKILL"));
  await expect.poll(() => childrenOf(parent.pid!), { timeout: 30_000 }).toHaveLength(1);
  parent.kill("SIGSTOP");

  const isHidden = () => readIfThere(`/proc/${first.pid}/environ`) === "" && isAlive(first);
  await killWhen(isHidden, "down");
  const again = run(...local("down")).then(() => isAlive(first));
  await sleep(3_000); // a `down` that does not wait ends in this time
  parent.kill("SIGCONT");
  expect(await again).toBe(false);
  expect(await remains(instance, [first])).toEqual(NOTHING);
});

test("after kills of `down` at several points, the next `down` leaves no process and no file", async () => {
  await run(...local("up", "--nodes", "1"));
  const instance = known();
  const inner = spawn(...local("exec", "--", "sleep", "600"), { stdio: "ignore" });
  const ended = once(inner, "close");
  onTestFinished(() => void inner.kill()); // in case `down` did not end it
  const programs = async () => (await insideNetworkOf(instance)).map(({ pid }) => readIfThere(`/proc/${pid}/cmdline`));
  await expect.poll(programs, { timeout: 30_000 }).toContain("sleep\x00600\x00");
  const inside = await insideNetworkOf(instance);
  const before = await remains(instance, inside);
  for (const key of Object.keys(NOTHING) as (keyof typeof NOTHING)[])
    expect(before[key], key).not.toEqual(NOTHING[key]);
  const running = () => withEnvironment(TOKEN_VARIABLE, instance.token).length;
  const all = running();
  await killWhen(() => running() < all, "down");
  await killOnceRemoved(instance.runFolder, "down");
  expect(existsSync(instance.runFolder)).toBe(false);
  await down();
  expect(await remains(instance, inside)).toEqual(NOTHING);
  await ended;
});
