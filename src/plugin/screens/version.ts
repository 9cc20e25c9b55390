import type { Values } from "../fields.ts";
import type { Line } from "../lines.ts";

/** What is known about the installation. */
export interface Versions {
  readonly plugin: string;
  readonly kubernetes: string;
  /** Images of the operator's Deployments, or why they could not be read. */
  readonly operator: readonly string[] | string;
  /** Served versions of the group, the preferred one first; a text when they could not be read. */
  readonly served: readonly string[] | string;
  /** Kinds of the group that this plugin needs and the API server does not serve. */
  readonly missingKinds: readonly string[];
}

export function versionScreen(versions: Versions): readonly Line[] {
  const { plugin, kubernetes, operator, served, missingKinds } = versions;
  return [
    ["plugin      ", plugin],
    ["operator    ", listText(operator)],
    ["API         ", listText(served)],
    ["Kubernetes  ", kubernetes],
    ...skewOf(versions).map((text): Line => [{ text: `! ${text}`, tone: "warn" }]),
    ...(missingKinds.length === 0
      ? []
      : [[{ text: `! not served: ${missingKinds.join(", ")}`, tone: "warn" } as const]]),
  ];
}

/** Sentences about versions that do not belong together. */
export function skewOf({ plugin, operator }: Versions): readonly string[] {
  const releases = typeof operator === "string" ? [] : operator.map(releaseOf).filter((each) => each !== undefined);
  const others = releases.filter((each) => minorOf(each) !== minorOf(plugin));
  return others.map(
    (each) => `The operator is ${each} and this plugin ${plugin}: use the plugin of the same minor release.`,
  );
}

/** The release in the tag of an image; undefined when the tag is none, such as a hash. */
function releaseOf(image: string): string | undefined {
  return /:v?(\d+\.\d+\.\d+)(?:$|[-+@])/.exec(image)?.[1];
}

function minorOf(release: string): string {
  return release.split(".").slice(0, 2).join(".");
}

function listText(found: readonly string[] | string): string {
  if (typeof found === "string") return found;
  return found.length === 0 ? "none found" : found.join(", ");
}

export function versionsAsValue(versions: Versions): Values {
  return { ...versions, warnings: skewOf(versions) };
}
