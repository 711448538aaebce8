export { CallWorkflow } from './call.js';
export { NotifyWorkflow, ReconcileWorkflow } from './reconcile.js';
