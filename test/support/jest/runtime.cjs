const { readFileSync } = require('node:fs');
const { createRequire, isBuiltin } = require('node:module');
const { compileFunction, constants } = require('node:vm');
const { transformSync } = require('@swc/core');
const Runtime = require('jest-runtime').default;
const { transform } = require('../jest-base.json');

// Temporal's SDK loads a converter of this project by its path, with Node's own `require`. From version 22 on, Node runs
// TypeScript, but not `import` in a package of type commonjs.
require.extensions['.ts'] = (module, filename) => {
  const [[, options]] = Object.values(transform);
  module._compile(transformSync(readFileSync(filename, 'utf8'), { ...options, filename, swcrc: false }).code, filename);
};

/** Packages with state that each test file needs for itself, such as the one Temporal runtime of a process. */
const NOT_SHARED = /^(@jest\/|jest|@temporalio\/(worker|testing)($|\/))/;

/** Require functions of Node, by the path of the requiring file. */
const requires = new Map();

/**
 * A jest runtime that loads packages once for each jest process, with Node's own `require`. Modules of this project are
 * loaded anew for each test file, as usual. Jest would load about 1,450 modules of packages for each file, which is a
 * third of the time of the whole test suite. Needs environment.cjs.
 */
module.exports = class SharedPackagesRuntime extends Runtime {
  constructor(...args) {
    super(...args);
    const { executor } = this;
    executor.compile = (source, filename) =>
      compileFunction(source, executor.injectedModuleParameters, {
        filename,
        importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
      });
  }

  requireModuleOrMock(from, moduleName) {
    const isPackage = !/^[./]/.test(moduleName) && !isBuiltin(moduleName);
    if (!isPackage || NOT_SHARED.test(moduleName) || this.mockState.shouldMockCjs(from, moduleName).shouldMock) {
      return super.requireModuleOrMock(from, moduleName);
    }
    const cached = requires.get(from) ?? createRequire(from);
    requires.set(from, cached);
    return cached(moduleName);
  }
};
