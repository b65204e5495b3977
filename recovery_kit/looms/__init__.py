"""The workflow runtime: Workflows of Stages and Steps, run by a Service that saves every boundary before it shows it."""

from .refusals import Refused
from .workflow import END, AgentWork, Code, Stage, Step, Workflow, agent, code, to_stage, to_step

__all__ = ["END", "AgentWork", "Code", "Refused", "Stage", "Step", "Workflow", "agent", "code", "to_stage", "to_step"]
