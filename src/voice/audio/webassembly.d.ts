/** The little of WebAssembly that is used here; Node has it, its type package does not, and the DOM's types would be too much. */
declare namespace WebAssembly {
  class Module {
    private constructor();
  }
  interface Memory {
    readonly buffer: ArrayBuffer;
  }
  interface Instance {
    readonly exports: Record<string, unknown>;
  }
  type ImportFunction = (...args: never[]) => unknown;
  function compile(bytes: Uint8Array): Promise<Module>;
  function instantiate(module: Module, imports: Record<string, Record<string, ImportFunction>>): Promise<Instance>;
}
