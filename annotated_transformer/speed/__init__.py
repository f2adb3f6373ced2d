"""What makes a CPU fast, and what no chapter is about.

Private functions of PyTorch are called here and nowhere else.
"""
