import type { Observed } from "#base/observed.ts";
import type { Values } from "../fields.ts";
import type { Line } from "../lines.ts";
import { EXIT_CODES } from "../verdict.ts";

/** Image of a container of a Deployment with the operator's label. */
export interface OperatorImage {
  readonly namespace: string;
  readonly image: string;
}

/** What is known about the installation. A part is absent when the API server does not serve it. */
export interface Versions {
  readonly plugin: string;
  readonly kubernetes: Observed<string>;
  readonly operator: Observed<readonly OperatorImage[]>;
  /** Served versions of the group, the preferred one first. */
  readonly served: Observed<readonly string[]>;
  /** Kinds of the group that this plugin needs and the API server does not serve. */
  readonly missingKinds: Observed<readonly string[]>;
}

export function versionScreen(versions: Versions): readonly Line[] {
  const { plugin, kubernetes, operator, served } = versions;
  const missing = valueIn(versions.missingKinds) ?? [];
  return [
    ["plugin      ", plugin],
    ["operator    ", shown(operator, (found) => listText(found.map(imageText)))],
    ["API         ", shown(served, listText)],
    ["Kubernetes  ", shown(kubernetes, (found) => found)],
    ...skewOf(versions).map((text): Line => [{ text: `! ${text}`, tone: "warn" }]),
    ...(missing.length === 0 ? [] : [[{ text: `! not served: ${missing.join(", ")}`, tone: "warn" } as const]]),
  ];
}

/** 3 when a part could not be read, 1 when versions do not belong together or kinds are missing, else 0. */
export function versionExitCode(versions: Versions): number {
  if (unreadIn(versions).length > 0) return EXIT_CODES["cannot tell"];
  const isAmiss = skewOf(versions).length > 0 || (valueIn(versions.missingKinds) ?? []).length > 0;
  return isAmiss ? EXIT_CODES.degraded : EXIT_CODES.well;
}

/** Sentences about versions that do not belong together. */
export function skewOf({ plugin, operator }: Versions): readonly string[] {
  return (valueIn(operator) ?? []).flatMap(({ namespace, image }) => {
    const release = releaseOf(image);
    if (release === undefined || minorOf(release) === minorOf(plugin)) return [];
    const what = `The operator in namespace ${namespace} is ${release} and this plugin ${plugin}`;
    return [`${what}: use the plugin of the same minor release.`];
  });
}

/** The release in the tag of an image; undefined when the tag is none, such as a hash. */
function releaseOf(image: string): string | undefined {
  return /:v?(\d+\.\d+\.\d+)(?:$|[-+@])/.exec(image)?.[1];
}

function minorOf(release: string): string {
  return release.split(".").slice(0, 2).join(".");
}

function imageText({ namespace, image }: OperatorImage): string {
  return `${image} in ${namespace}`;
}

function listText(found: readonly string[]): string {
  return found.length === 0 ? "none found" : found.join(", ");
}

function shown<T>(part: Observed<T>, text: (value: T) => string): string {
  if (part.is === "present") return text(part.value);
  return part.is === "absent" ? "not served" : `cannot be read: ${part.why}`;
}

function valueIn<T>(part: Observed<T>): T | undefined {
  return part.is === "present" ? part.value : undefined;
}

function unreadIn({ plugin: _, ...parts }: Versions): readonly (readonly [string, string])[] {
  return Object.entries(parts).flatMap(([name, part]) => (part.is === "unknown" ? [[name, part.why] as const] : []));
}

/** Value of `-o json`: a part that could not be read is null, and its reason is in `unread`. */
export function versionsAsValue(versions: Versions): Values {
  const { plugin, ...parts } = versions;
  const values = Object.entries(parts).map(([name, part]) => [name, valueIn<unknown>(part) ?? null]);
  const unread = Object.fromEntries(unreadIn(versions));
  return { plugin, ...Object.fromEntries(values), warnings: skewOf(versions), unread };
}
