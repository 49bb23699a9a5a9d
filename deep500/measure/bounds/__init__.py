"""What a machine can do at best: measured peaks, the roofline, ideal and Amdahl scaling."""
