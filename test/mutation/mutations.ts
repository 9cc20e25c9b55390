import { type ESTree, parseSync } from "vite";

type Node = ESTree.Node;
type Expression = ESTree.Expression;

/** One small change of a source file, made mechanically. */
export interface Mutation {
  readonly file: string;
  readonly line: number;
  /** Declaration that contains it, such as `keepQuorum.forbids`. Lines move, names stay. */
  readonly within: string;
  /** The changed text, on one line, and its replacement. */
  readonly from: string;
  readonly to: string;
  /**
   * The file with only this mutation, as a person could write it; `undefined` where the type checker could not follow.
   */
  readonly alone?: string;
}

/** A file with all its mutations, each inactive until `isMutated` answers true for its number. */
export interface Mutated {
  readonly text: string;
  readonly mutations: readonly Mutation[];
}

/** Name of the function that the mutated text calls at every place. */
export const SWITCH = "__isMutated";

// Mutations:
//
// - A condition becomes true or false; a clause of && or || is left out.
// - A bound changes between < and <=; a number is halved, doubled, increased or decreased by one.
// - A case, an element of a list, a filter or a default is left out.
// - An order is reversed.
// - A function returns at once.
//
// A negated condition, or an exchange of && and ||, adds nothing: a test that notices one of the first notices it, too.
//
// Exempt are texts for people (templates, and the names below) and recheck intervals. So is everything that the type
// checker refuses anyway, such as `.` for `?.`.
const WORDS = new Set(["because", "why", "what", "whose", "origin", "fate", "keeps", "counted", "seconds", "isLast"]);
const PACE = /RECHECK_MS$|^(min|max)Ms$/;

interface Place {
  readonly within: string;
  /** Whether a boolean is expected there. */
  readonly isCondition?: boolean;
  /** Whether it is a clause of && or ||: its constant values are proposed for the whole expression. */
  readonly isClause?: boolean;
  /** Whether it is inside `a?.b.c`, where parentheses would change the meaning. */
  readonly isChained?: boolean;
}

interface Site {
  readonly start: number;
  readonly end: number;
  readonly choices: { readonly id: number; readonly text: string }[];
}

/** @param firstId number of the first mutation; the others follow */
export function mutated(file: string, source: string, firstId: number): Mutated {
  const { program, errors } = parseSync(file, source);
  if (errors[0] !== undefined) throw new Error(`${file}: ${errors[0].message}`);
  const finder = new Finder(file, source, firstId);
  finder.visit(program, { within: "" });
  return { text: finder.rewritten(), mutations: finder.mutations };
}

class Finder {
  readonly mutations: Mutation[] = [];
  readonly #sites = new Map<string, Site>();
  /** Offsets at which a statement is inserted. */
  readonly #openings: { readonly at: number; readonly id: number }[] = [];
  readonly #file: string;
  readonly #source: string;
  readonly #firstId: number;

  constructor(file: string, source: string, firstId: number) {
    this.#file = file;
    this.#source = source;
    this.#firstId = firstId;
  }

  visit(node: Node, place: Place): void {
    const inner: Place = { within: place.within };
    switch (node.type) {
      case "ImportDeclaration":
      case "TemplateLiteral":
        break;
      case "FunctionDeclaration":
        if (WORDS.has(node.id?.name ?? "") || node.id?.name.endsWith("Text") === true) break;
        this.#opening(node, { within: joined(place.within, node.id?.name) });
        this.#children(node, { within: joined(place.within, node.id?.name) });
        break;
      case "FunctionExpression":
      case "ArrowFunctionExpression":
        this.#opening(node, inner);
        for (const each of node.params) if (each.type === "AssignmentPattern") this.visit(each.right, inner);
        if (node.body !== null) this.visit(node.body, inner);
        break;
      case "VariableDeclarator": {
        const name = node.id.type === "Identifier" ? node.id.name : "";
        if (!WORDS.has(name) && !PACE.test(name)) this.#children(node, { within: place.within || name });
        break;
      }
      case "Property":
        this.#property(node, inner);
        break;
      case "ExpressionStatement":
        if (node.expression.type === "CallExpression") this.#propose(node.expression, "undefined", inner);
        this.visit(node.expression, { ...inner, isClause: true });
        break;
      case "IfStatement":
      case "ConditionalExpression":
      case "WhileStatement":
        this.visit(node.test, { ...inner, isCondition: true });
        this.#children(node, inner, "test");
        break;
      case "SwitchCase":
        if (node.test !== null) {
          const words = { from: `case ${this.#text(node.test)}`, to: "left out" };
          this.#propose(node.test, "undefined", inner, words);
        }
        this.#children(node, inner, "test");
        break;
      case "ChainExpression":
        this.#condition(node, place);
        this.#children(node, { ...inner, isChained: true });
        break;
      case "LogicalExpression":
        this.#logical(node, place);
        break;
      case "ParenthesizedExpression":
        this.#children(node, place);
        break;
      case "UnaryExpression":
        this.#condition(node, place);
        if (node.operator === "!") this.visit(node.argument, { ...inner, isClause: true });
        break;
      case "BinaryExpression":
        this.#binary(node, place);
        break;
      case "Literal":
        this.#literal(node, inner);
        break;
      case "ArrayExpression":
        this.#array(node, inner);
        break;
      case "CallExpression":
        this.#call(node, place);
        break;
      case "MemberExpression":
        this.#condition(node, place);
        this.visit(node.object, { ...inner, isChained: place.isChained === true });
        if (node.computed) this.visit(node.property, inner);
        break;
      case "Identifier":
        this.#condition(node, place);
        break;
      default:
        // Only the expression beside a type is visited: `a as T`.
        if (!node.type.startsWith("TS") || "expression" in node) this.#children(node, inner);
    }
  }

  #property({ key, value, computed, shorthand }: Extract<Node, { type: "Property" }>, place: Place): void {
    const name = key.type === "Identifier" && !computed ? key.name : "";
    if (shorthand || WORDS.has(name) || PACE.test(name)) return;
    this.visit(value, value.type === "FunctionExpression" ? { within: joined(place.within, name) } : place);
  }

  /** Proposes that a function returns at once. */
  #opening(node: { readonly body: Node | null }, place: Place): void {
    const { body } = node;
    if (body?.type !== "BlockStatement") return;
    const at = body.start + 1;
    const alone = `${this.#source.slice(0, at)} if (Date) return undefined; ${this.#source.slice(at)}`;
    this.#openings.push({ at, id: this.#add(body, place, "{ … }", "{ return undefined; … }", alone) });
  }

  #logical(node: Extract<Node, { type: "LogicalExpression" }>, place: Place): void {
    const { operator } = node;
    const inner: Place = { within: place.within, isClause: true };
    const clauses = clausesOf(node, operator);
    if (operator === "??") {
      this.#propose(node, this.#text(node.right), place);
      this.visit(node.left, inner);
      this.visit(node.right, inner);
      return;
    }
    for (const left of clauses) {
      const rest = clauses.filter((each) => each !== left).map((each) => this.#text(each));
      this.#propose(node, rest.join(` ${operator} `), place);
    }
    if (place.isClause !== true) this.#propose(node, operator === "&&" ? "false" : "true", place);
    for (const each of clauses) this.visit(each, inner);
  }

  #binary(node: Extract<Node, { type: "BinaryExpression" }>, place: Place): void {
    this.#condition(node, place);
    const { operator, left, right } = node;
    const other = OTHER_OPERATOR[operator];
    if (other !== undefined && !(operator === "+" && [left, right].some(isText)))
      this.#propose(node, `${this.#text(left)} ${other} ${this.#text(right)}`, place);
    if (left.type !== "PrivateIdentifier") this.visit(left, { within: place.within, isClause: true });
    this.visit(right, { within: place.within, isClause: true });
  }

  #literal(node: Node & { type: "Literal" }, place: Place): void {
    const { value } = node;
    if (typeof value === "boolean") this.#propose(node, String(!value), place);
    if (typeof value !== "number") return;
    const isCount = Number.isInteger(value) && value < 100;
    this.#propose(node, String(isCount ? value + 1 : value * 2), place);
    if (value > 0) this.#propose(node, String(isCount ? value - 1 : value / 2), place);
  }

  #array(node: Extract<Node, { type: "ArrayExpression" }>, place: Place): void {
    const texts = node.elements.map((each) => (each === null ? "" : this.#text(each)));
    texts.forEach((text, n) => {
      const rest = texts.filter((_, other) => other !== n);
      this.#propose(node, `[${rest.join(", ")}]`, place, { from: text, to: "left out of the list" });
    });
    if (/_(?:RULES|PHASES)$/.test(place.within)) {
      for (let n = 1; n < texts.length; n++) {
        const swapped = texts.with(n - 1, texts[n] ?? "").with(n, texts[n - 1] ?? "");
        const words = { from: `${texts[n - 1]}, ${texts[n]}`, to: `${texts[n]}, ${texts[n - 1]}` };
        this.#propose(node, `[${swapped.join(", ")}]`, place, words);
      }
    }
    this.#children(node, place);
  }

  #call(node: Extract<Node, { type: "CallExpression" }>, place: Place): void {
    this.#condition(node, place);
    const { callee } = node;
    const method = callee.type === "MemberExpression" && callee.property.type === "Identifier" ? callee : undefined;
    if (method !== undefined && place.isChained !== true) {
      const name = this.#text(method.property);
      const receiver = this.#text(method.object);
      const given = node.arguments.map((each) => this.#text(each)).join(", ");
      const from = `.${name}(${given})`;
      if (LEFT_OUT.has(name)) this.#propose(node, receiver, place, { from, to: "left out" });
      if (name === "sort" && given !== "") {
        this.#propose(node, `${receiver}.sort((a, b) => -(${given})(a, b))`, place, {
          from,
          to: "the other way round",
        });
      }
      const other = OTHER_METHOD.get(name);
      if (other !== undefined)
        this.#propose(node, `${receiver}.${other}(${given})`, place, { from, to: `.${other}(${given})` });
    }
    const inner: Place = { within: place.within };
    const isTest = method !== undefined && TESTING.has(this.#text(method.property));
    if (callee.type !== "Identifier") {
      if (method === undefined) this.visit(callee, inner);
      else this.visit(method.object, { ...inner, isChained: place.isChained === true });
    }
    for (const each of node.arguments) {
      const isPace = callee.type === "Identifier" && callee.name === "wait" && each.type === "Literal";
      if (isPace) continue;
      if (isTest && each.type === "ArrowFunctionExpression" && each.body.type !== "BlockStatement")
        this.visit(each.body, { ...inner, isCondition: true });
      else this.visit(each, inner);
    }
  }

  /** Proposes that a condition is always true, and always false. */
  #condition(node: Node, place: Place): void {
    if (place.isClause === true || place.isChained === true) return;
    if (place.isCondition !== true && !isBoolean(node)) return;
    this.#propose(node, "true", place);
    this.#propose(node, "false", place);
  }

  /** @param words text for the report, if it differs from the source text */
  #propose(node: Node, text: string, place: Place, words?: { readonly from: string; readonly to: string }): void {
    const { from, to } = words ?? { from: this.#text(node), to: text };
    const canCheck = !from.startsWith("case "); // Without this case the type checker could not narrow the type.
    const alone = `${this.#source.slice(0, node.start)}(${text})${this.#source.slice(node.end)}`;
    const id = this.#add(node, place, from, to, canCheck ? alone : undefined);
    const key = `${node.start} ${node.end}`;
    const site = this.#sites.get(key) ?? { start: node.start, end: node.end, choices: [] };
    site.choices.push({ id, text });
    this.#sites.set(key, site);
  }

  #add({ start }: Node, { within }: Place, from: string, to: string, alone: string | undefined): number {
    const line = this.#source.slice(0, start).split("\n").length;
    const same = this.mutations.filter((each) => each.within === within && each.from === oneLine(from));
    const nth = same.filter((each) => each.to === oneLine(to) || each.to.startsWith(`${oneLine(to)} (`)).length + 1;
    const told = {
      file: this.#file,
      line,
      within,
      from: oneLine(from),
      to: nth === 1 ? oneLine(to) : `${oneLine(to)} (${nth})`,
    };
    return this.#firstId + this.mutations.push(alone === undefined ? told : { ...told, alone }) - 1;
  }

  #text({ start, end }: { readonly start: number; readonly end: number }): string {
    return this.#source.slice(start, end);
  }

  #children(node: Node, place: Place, except = ""): void {
    for (const [key, value] of Object.entries(node)) {
      if (key === except || key === "params" || key === "id") continue;
      for (const each of Array.isArray(value) ? value : [value]) if (isNode(each)) this.visit(each, place);
    }
  }

  /** The source with a switch at every site. The outer one of nested sites comes first. */
  rewritten(): string {
    const sites = [...this.#sites.values()].sort((a, b) => a.start - b.start || b.end - a.end);
    return this.#between(0, this.#source.length, sites);
  }

  #between(start: number, end: number, sites: readonly Site[]): string {
    let text = "";
    let at = start;
    for (let n = 0; n < sites.length; ) {
      const site = sites[n] as Site;
      let next = n + 1;
      while (next < sites.length && (sites[next] as Site).start < site.end) next++;
      const real = this.#between(site.start, site.end, sites.slice(n + 1, next));
      const choices = site.choices.map((choice) => `${SWITCH}(${choice.id})?(${choice.text}):`).join("");
      text += `${this.#opened(at, site.start)}(${choices}(${real}))`;
      at = site.end;
      n = next;
    }
    return text + this.#opened(at, end);
  }

  /** The text between two offsets with the inserted statements. */
  #opened(start: number, end: number): string {
    let text = "";
    let at = start;
    for (const opening of this.#openings
      .filter((each) => each.at > start && each.at <= end)
      .sort((a, b) => a.at - b.at)) {
      text += `${this.#source.slice(at, opening.at)} if (${SWITCH}(${opening.id})) return undefined as never;`;
      at = opening.at;
    }
    return text + this.#source.slice(at, end);
  }
}

const OTHER_OPERATOR: Readonly<Record<string, string>> = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "+": "-",
  "-": "+",
  "*": "/",
  "/": "*",
};
const OTHER_METHOD = new Map([
  ["some", "every"],
  ["every", "some"],
  ["min", "max"],
  ["max", "min"],
]);
/** Methods that may be left out of a chain. */
const LEFT_OUT = new Set(["filter", "sort", "toSorted", "reverse", "slice"]);
/** Methods with a predicate. */
const TESTING = new Set(["filter", "some", "every", "find", "findLast", "findIndex"]);
const COMPARING = new Set(["===", "!==", "<", "<=", ">", ">=", "in"]);

/** Whether the expression is a boolean, wherever it is. */
function isBoolean(node: Node): boolean {
  if (node.type === "BinaryExpression") return COMPARING.has(node.operator);
  if (node.type === "UnaryExpression") return node.operator === "!";
  if (node.type !== "CallExpression") return false;
  const { callee } = node;
  if (callee.type === "Identifier") return /^(is|has|may|takes)[A-Z]/.test(callee.name);
  if (callee.type !== "MemberExpression" || callee.property.type !== "Identifier") return false;
  return ["some", "every", "includes", "has", "startsWith", "endsWith"].includes(callee.property.name);
}

function isText(node: Node): boolean {
  return node.type === "TemplateLiteral" || (node.type === "Literal" && typeof node.value === "string");
}

/** `a`, `b` and `c` of `a && b && c`. */
function clausesOf(node: Expression, operator: string): readonly Expression[] {
  if (node.type !== "LogicalExpression" || node.operator !== operator) return [node];
  return [...clausesOf(node.left, operator), ...clausesOf(node.right, operator)];
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "type" in value && typeof value.type === "string";
}

function joined(outer: string, name: string | undefined): string {
  return [outer, name].filter((each) => each !== undefined && each !== "").join(".");
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ");
}
