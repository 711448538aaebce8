const { ModernFakeTimers } = require('@jest/fake-timers');
const { ModuleMocker } = require('jest-mock');

/** Process-wide state of jest-circus that the next test file would find. */
const CIRCUS_SYMBOLS =
  /^Symbol\((JEST_STATE_SYMBOL|EVENT_HANDLERS|TEST_TIMEOUT_SYMBOL|RETRY_|WAIT_BEFORE_RETRY|LOG_ERRORS_BEFORE_RETRY)/;

/**
 * A jest environment that runs test files with Node's own global object instead of a new one for each file. The
 * packages that the test files share (see runtime.cjs) then see the same `Error` and `Date` as the tests. What a
 * file changes on the process is restored afterwards.
 */
module.exports = class SharedGlobalEnvironment {
  constructor({ projectConfig }) {
    this.global = globalThis;
    this.moduleMocker = new ModuleMocker(globalThis);
    this.fakeTimers = null;
    // For the global object itself, fake timers would also replace those of `node:timers`, which packages use.
    this.fakeTimersModern = new ModernFakeTimers({ config: projectConfig, global: new Proxy(globalThis, {}) });
    this.before = {
      env: { ...process.env },
      exit: Object.getOwnPropertyDescriptor(process, 'exit'),
      exitCode: process.exitCode,
      cwd: process.cwd(),
      console: globalThis.console,
      listeners: new Map(process.eventNames().map((name) => [name, process.rawListeners(name)])),
      stackTraceLimit: Error.stackTraceLimit,
    };
    Error.stackTraceLimit = 100;
  }

  async setup() {}

  async teardown() {
    this.fakeTimersModern.dispose();
    this.moduleMocker.restoreAllMocks();
    const { env, exit, exitCode, cwd, console, listeners, stackTraceLimit } = this.before;
    for (const name of Object.keys(process.env)) if (!(name in env)) delete process.env[name];
    Object.assign(process.env, env);
    Object.defineProperty(process, 'exit', exit);
    process.exitCode = exitCode;
    process.chdir(cwd);
    globalThis.console = console;
    for (const name of process.eventNames()) {
      const earlier = listeners.get(name) ?? [];
      for (const one of process.rawListeners(name)) if (!earlier.includes(one)) process.removeListener(name, one);
    }
    Error.stackTraceLimit = stackTraceLimit;
    for (const symbol of Object.getOwnPropertySymbols(globalThis)) {
      if (CIRCUS_SYMBOLS.test(String(symbol))) delete globalThis[symbol];
    }
    this.global = null;
  }

  exportConditions() {
    return ['node', 'node-addons'];
  }

  /** Jest only checks that there is a context. The runtime compiles modules in the main one. */
  getVmContext() {
    return this.global === null ? null : {};
  }
};
