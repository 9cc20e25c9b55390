import { readdirSync, readFileSync } from "node:fs";
import { parseAllDocuments } from "yaml";
import { GROUP } from "#api/names.ts";
import { newIdentity } from "#cluster/identity/desired/identity.ts";
import { newPeer } from "#cluster/members/desired/peer.ts";
import { cluster } from "#kit/snapshots/cluster.ts";

/** An object of ours as a person writes it. */
export interface WrittenObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: Readonly<Record<string, unknown>>;
}

/** Objects of our kinds in examples/, with the name of the file. */
export function exampleObjects(): readonly { readonly file: string; readonly object: WrittenObject }[] {
  return readdirSync("examples").flatMap((file) =>
    parseAllDocuments(readFileSync(`examples/${file}`, "utf8"))
      .map((document) => document.toJS() as WrittenObject)
      .filter(({ apiVersion }) => apiVersion.startsWith(`${GROUP}/`))
      .map((object) => ({ file, object })),
  );
}

/** An object of each kind that only the operator writes. */
export function ownObjects(): readonly Pick<WrittenObject, "kind" | "spec">[] {
  const snapshot = cluster();
  const { kind, spec } = newPeer(snapshot, newIdentity(snapshot), "own-0");
  return [{ kind, spec: spec as unknown as WrittenObject["spec"] }];
}
