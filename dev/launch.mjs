// Starts a command of this project: node dev/launch.mjs COMMAND ARGUMENTS…
// Why plain JavaScript? The machine's own Node may be too old for the rest. This file runs on Node 18 and later: it
// installs the npm packages, and runs the command with the Node that is one of them.

import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The oldest Node that runs this project's TypeScript files without a compiler. */
const OLDEST_NODE = 24;

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const LOCK_FILE = join(ROOT, "package-lock.json");
const STAMP_FILE = join(ROOT, "node_modules", ".installed-from");
const COMMANDS = [
  "start",
  "local",
  "test",
  "bench",
  "image",
  "manifests",
  "chart",
  "site",
  "plugin",
  "release",
  "generate",
  "check",
  "prose",
  "watch",
];

const [command, ...args] = process.argv.slice(2);
if (!COMMANDS.includes(command)) fail(`The command must be one of ${COMMANDS.join(", ")}.`);
const file = join(ROOT, "dev", "commands", `${command}.ts`);
if (!existsSync(file)) fail(`The command "${command}" has no file ${file}.`);

if (needsLocalKubernetes(command, args)) checkMachine(command);
installPackages();
handOver(newestNode(), file);

/** Whether the command may build and start a Kubernetes on this machine. */
function needsLocalKubernetes(command, args) {
  if (args.includes("--help")) return false;
  if (command === "start") return !args.some((arg) => arg === "--kubeconfig" || arg.startsWith("--kubeconfig="));
  // The level comes first; files after it may have the same names. Without a level all of them run.
  if (command === "test") return !["unit", "simulation", "mutants"].includes(args[0]);
  return command === "local" || command === "bench";
}

/** Ends with one line that names everything missing on this machine, and the commands that work without it. */
function checkMachine(command) {
  const missing = [];
  if (process.platform !== "linux") missing.push("Linux");
  else if (process.getuid() !== 0) missing.push("root");
  if (!isOnPath("go")) missing.push("Go 1.26 or later");
  if (!isOnPath("npm")) missing.push("npm");
  if (missing.length === 0) return;
  if (command === "test")
    fail(
      `These tests need ${missing.join(", ")}. These commands need none of them: npm run check, npm run test:unit, npm run test:simulation, npm run test:mutants`,
    );
  fail(
    `A local Kubernetes needs ${missing.join(", ")}. Without them, use another cluster, such as kind's: ` +
      "npm start -- --kubeconfig FILE",
  );
}

/** Installs the packages of package-lock.json, unless they are installed. */
function installPackages() {
  const wanted = createHash("sha256").update(readFileSync(LOCK_FILE)).digest("hex");
  if (existsSync(STAMP_FILE) && readFileSync(STAMP_FILE, "utf8") === wanted) return;
  if (!isInstalledByNpm()) {
    console.error("… installing the npm packages of package-lock.json (about half a minute)");
    const sinceMs = performance.now();
    // Only errors: for every package npm would warn of the machine's Node, which this file replaces.
    const npm = spawnSync("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"], {
      cwd: ROOT,
      stdio: ["ignore", "ignore", "inherit"],
    });
    if (npm.status !== 0) fail("npm ci failed; its output is above.");
    console.error(`✓ npm packages installed (${((performance.now() - sinceMs) / 1000).toFixed(1)} s)`);
  }
  mkdirSync(dirname(STAMP_FILE), { recursive: true });
  writeFileSync(STAMP_FILE, wanted);
}

/** Whether npm itself has already installed the packages of the lock file. */
function isInstalledByNpm() {
  const installed = join(ROOT, "node_modules", ".package-lock.json");
  if (!existsSync(installed)) return false;
  const there = JSON.parse(readFileSync(installed, "utf8")).packages;
  const wanted = Object.entries(JSON.parse(readFileSync(LOCK_FILE, "utf8")).packages);
  return wanted.every(([path, each]) => path === "" || each.optional || there[path]?.version === each.version);
}

/** The Node of the npm packages, or else the Node that runs this file. */
function newestNode() {
  const packaged = join(ROOT, "node_modules", `node-linux-${process.arch}`, "bin", "node");
  if (process.platform === "linux" && existsSync(packaged)) return packaged;
  const own = Number(process.versions.node.split(".")[0]);
  if (own < OLDEST_NODE) fail(`Node ${OLDEST_NODE} or later is needed; this is ${process.versions.node}.`);
  return process.execPath;
}

/** Runs the command and ends like it, with the same exit code or signal. */
function handOver(node, file) {
  const child = spawn(node, [file, ...args], { stdio: "inherit" });
  // On a terminal Ctrl-C reaches the child itself, and must not arrive twice.
  process.on("SIGINT", () => process.stdin.isTTY || child.kill("SIGINT"));
  for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal));
  child.on("error", (failed) => fail(`Cannot start ${node}: ${failed.message}`));
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
