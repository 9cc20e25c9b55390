// Starts a command of this project: node dev/launch.mjs COMMAND ARGUMENTS…
// Why plain JavaScript? The machine's own Node may be too old for the rest. This file runs on Node 18 and later; it sees
// to the packages, takes the Node that came with them, and hands over.

import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The oldest Node that runs TypeScript files as they are, with what the code uses. */
const OLDEST_NODE = 24;

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const LOCK_FILE = join(ROOT, "package-lock.json");
const STAMP_FILE = join(ROOT, "node_modules", ".installed-from");
const COMMANDS = ["start", "local", "test", "bench", "image", "manifests", "generate", "check"];

const [command, ...args] = process.argv.slice(2);
if (!COMMANDS.includes(command)) fail(`the command is one of: ${COMMANDS.join(", ")}`);
const file = join(ROOT, "dev", "commands", `${command}.ts`);
if (!existsSync(file)) fail(`"${command}" is not there yet`);

if (needsLocalKubernetes(command, args)) checkMachine(command);
installPackages();
handOver(newestNode(), file);

/** Whether the command may build and start a Kubernetes on this machine. */
function needsLocalKubernetes(command, args) {
  if (args.includes("--help")) return false;
  if (command === "start") return !args.some((arg) => arg === "--kubeconfig" || arg.startsWith("--kubeconfig="));
  // The level comes first; what follows may be called like one. Without a level all are tested.
  if (command === "test") return !["unit", "simulation", "mutants"].includes(args[0]);
  return command === "local" || command === "bench";
}

/** Everything that is missing, in one line, and what goes without it. */
function checkMachine(command) {
  const missing = [];
  if (process.platform !== "linux") missing.push("Linux");
  else if (process.getuid() !== 0) missing.push("root");
  if (!isOnPath("go")) missing.push("Go 1.26 or later");
  if (!isOnPath("npm")) missing.push("npm");
  if (missing.length === 0) return;
  if (command === "test")
    fail(
      `these tests need ${missing.join(", ")}; without: npm run check, npm run test:unit, npm run test:simulation, npm run test:mutants`,
    );
  fail(
    `a local Kubernetes needs ${missing.join(", ")}; without, use another cluster, such as one made by kind: ` +
      "npm start -- --kubeconfig FILE",
  );
}

/** Installs the packages when there are none, or when they are not those of package-lock.json. */
function installPackages() {
  const wanted = createHash("sha256").update(readFileSync(LOCK_FILE)).digest("hex");
  if (existsSync(STAMP_FILE) && readFileSync(STAMP_FILE, "utf8") === wanted) return;
  if (!isInstalledByNpm()) {
    console.error("… installing the npm packages of package-lock.json, in about half a minute");
    const sinceMs = performance.now();
    // Only errors: npm would warn of the machine's Node for every package, and that is the Node that we are about to replace.
    const npm = spawnSync("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
      cwd: ROOT,
      stdio: ["ignore", "ignore", "inherit"],
    });
    if (npm.status !== 0) fail("npm ci failed; its words are above");
    console.error(`✓ npm packages installed (${((performance.now() - sinceMs) / 1000).toFixed(1)} s)`);
  }
  mkdirSync(dirname(STAMP_FILE), { recursive: true });
  writeFileSync(STAMP_FILE, wanted);
}

/** Whether npm itself has put there just what the lock file says: then there is nothing to repeat. */
function isInstalledByNpm() {
  const installed = join(ROOT, "node_modules", ".package-lock.json");
  if (!existsSync(installed)) return false;
  const there = JSON.parse(readFileSync(installed, "utf8")).packages;
  const wanted = Object.entries(JSON.parse(readFileSync(LOCK_FILE, "utf8")).packages);
  return wanted.every(([path, each]) => path === "" || each.optional || there[path]?.version === each.version);
}

/** The Node that came with the packages, else the one that runs this. */
function newestNode() {
  const packaged = join(ROOT, "node_modules", `node-linux-${process.arch}`, "bin", "node");
  if (process.platform === "linux" && existsSync(packaged)) return packaged;
  const own = Number(process.versions.node.split(".")[0]);
  if (own < OLDEST_NODE) fail(`Node ${OLDEST_NODE} or later is needed; this is ${process.versions.node}`);
  return process.execPath;
}

/** Runs the command and ends as it ends: same exit code, or same signal. */
function handOver(node, file) {
  const child = spawn(node, [file, ...args], { stdio: "inherit" });
  // On a terminal Ctrl-C reaches the child by itself; a second one would be taken for impatience.
  process.on("SIGINT", () => process.stdin.isTTY || child.kill("SIGINT"));
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (failed) => fail(`${node} did not start: ${failed.message}`));
  child.on("exit", (code, signal) => {
    if (signal !== null) {
      process.removeAllListeners(signal);
      process.kill(process.pid, signal);
    } else process.exitCode = code ?? 1;
  });
}

function isOnPath(program) {
  return (process.env.PATH ?? "").split(":").some((folder) => folder !== "" && existsSync(join(folder, program)));
}

function fail(sentence) {
  console.error(sentence);
  process.exit(1);
}
