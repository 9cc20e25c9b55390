/** Something that the person at the terminal must know and can act on: shown as its message alone, without a stack. */
export class Failure extends Error {
  override readonly name = "Failure";
}
