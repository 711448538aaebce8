/** The WebAssembly types used here: Node's type package lacks them, and the DOM library would add too much else. */
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
