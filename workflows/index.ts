export { CallWorkflow } from './call.js';
