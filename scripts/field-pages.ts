import { customResourceDefinitions } from "#api/crd.ts";
import { OPERATOR_NAMESPACE } from "./manifests.ts";
import { page, table } from "./pages.ts";

interface Field {
  readonly type?: string;
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly string[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Field>>;
  readonly items?: Field;
  readonly additionalProperties?: Field;
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
}

interface Definition {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly names: { readonly kind: string };
    readonly versions: readonly {
      readonly name: string;
      readonly storage: boolean;
      readonly schema: { readonly openAPIV3Schema: Field };
    }[];
  };
}

/** Effect of an edit of a field in the spec of an EtcdCluster, or of a field below it. */
const EDITS: Readonly<Record<string, string>> = {
  replicas: "at once: members are added or removed one at a time; to 0 all stop, and start again as the same ones",
  version: "roll; refused for a way that etcd does not support",
  image: "roll",
  storage: "refused",
  bootstrap: "refused; it can be taken away, which changes nothing for a cluster that has formed",
  etcd: "roll",
  tls: "a certificate at once, without a restart; all else roll, with another provider or issuer three or four times",
  auth: "at once: no member restarts; refused without client certificates",
  podTemplate: "roll",
  clientService: "at once",
  clientSecret: "at once",
  caConfigMap: "at once",
  updateStrategy: "at once",
  replacement: "at once",
  disruptionBudget: "at once",
  networkPolicy: "at once",
  monitoring: "at once",
  paused: "at once",
};

/** Pages with the fields of each kind and version, by path from the root of the repository. */
export function fieldPages(): Readonly<Record<string, string>> {
  const definitions = customResourceDefinitions(OPERATOR_NAMESPACE) as unknown as readonly Definition[];
  return Object.fromEntries(
    definitions.map((definition) => [
      `docs/reference/${definition.spec.names.kind.toLowerCase()}.md`,
      fieldPage(definition),
    ]),
  );
}

function fieldPage({ spec: { names, versions } }: Definition): string {
  const isEdited = names.kind === "EtcdCluster";
  const sections = versions.flatMap(({ name, storage, schema: { openAPIV3Schema: whole } }) => {
    const { spec = {}, status = {} } = whole.properties ?? {};
    const heads = ["field", "type", "default", "what it is"];
    return [
      `## ${name}`,
      whole.description ?? "",
      "### spec",
      table(
        isEdited ? [...heads, "an edit of a running cluster"] : heads,
        rowsOf(spec, "").map(({ path, cells }) => (isEdited ? [...cells, editOf(path)] : cells)),
      ),
      "### status",
      storage
        ? table(
            ["field", "type", "what it is"],
            rowsOf(status, "").map(({ cells: [path = "", type = "", , meaning = ""] }) => [path, type, meaning]),
          )
        : (status.description ?? ""),
    ];
  });
  return page(
    names.kind,
    `Every field, as \`kubectl explain ${names.kind.toLowerCase()}\` shows it. A field in bold is required.`,
    ...sections,
  );
}

interface Row {
  readonly path: string;
  readonly cells: readonly string[];
}

function rowsOf(field: Field, path: string): readonly Row[] {
  const inner = field.properties ?? field.items?.properties ?? field.additionalProperties?.properties ?? {};
  const required = field.required ?? field.items?.required ?? [];
  return Object.entries(inner).flatMap(([name, each]) => {
    const at = path === "" ? name : `${path}.${name}`;
    const shown = required.includes(name) ? `**\`${at}\`**` : `\`${at}\``;
    const fallback = each.default === undefined || typeof each.default === "object" ? "" : code(each.default);
    const cells = [shown, typeOf(each), fallback, (each.description ?? "").split("\n\nPossible values:")[0] ?? ""];
    return [{ path: at, cells: cells.map((cell) => cell.replaceAll("\n", " ")) }, ...rowsOf(each, at)];
  });
}

function typeOf(field: Field): string {
  if (field["x-kubernetes-int-or-string"] === true) return "quantity";
  if (field.enum !== undefined) return field.enum.map(code).join(", ");
  if (field.type === "array") return `list of ${typeOf(field.items ?? {})}`;
  if (field.additionalProperties !== undefined) return `map of ${typeOf(field.additionalProperties)}`;
  return field.type ?? "";
}

function code(value: unknown): string {
  return `\`${typeof value === "string" ? value : JSON.stringify(value)}\``;
}

/** @throws Error that names a field without an entry in EDITS */
function editOf(path: string): string {
  const [top = ""] = path.split(".");
  const edit = EDITS[top];
  if (edit === undefined) throw new Error(`spec.${path} has no entry in EDITS of scripts/field-pages.ts.`);
  return path === top ? edit : "";
}
